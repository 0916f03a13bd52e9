"""Orders of the nodes in which neighbours are near each other, so that few edges cross parts."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.distributed._external_csr import DiskGraph
from agnn.errors import InputError, UnavailableError

ORDERS: Final = ("auto", "given", "streaming", "metis")
_PASSES: Final = 3  # over the nodes; later ones know where all neighbours are
# What METIS takes, about: the graph with weights, and ever coarser ones beside it.
_METIS_NODE: Final = 128  # bytes
_METIS_ENTRY: Final = 48  # bytes per stored edge
_SLACK: Final = 1.02  # how much more than an even share a part may have


def check_order(order: str) -> None:
    """Raise unless an order is known and what it needs is installed."""
    if order not in ORDERS:
        raise InputError(f"unknown order '{order}'; known: {', '.join(ORDERS)}, column:NAME.")
    if order == "metis" and find_spec("pymetis") is None:
        raise UnavailableError(
            "pymetis is not installed, and --order metis needs it: pip install pymetis."
        )


def chosen_order(graph: DiskGraph, parts: int, order: str, memory: int) -> str:
    """Return the order that "auto" stands for: METIS where it is installed and the memory allows.

    METIS cuts fewer edges than "streaming"; a single part needs no order.
    """
    if order != "auto":
        return order
    if parts == 1:
        return "given"
    needed = _METIS_NODE * graph.nodes + _METIS_ENTRY * graph.columns.size
    can_use_metis = needed <= memory and graph.columns.size < 2**31
    return "metis" if can_use_metis and find_spec("pymetis") is not None else "streaming"


def node_order(graph: DiskGraph, parts: int, order: str) -> NDArray[np.int64] | None:
    """Return the nodes in the order in which they are divided, [n]; None for as given.

    "streaming" puts each node into the part with most of its neighbours, weighted by the capacity
    that is left (linear deterministic greedy, in several passes; O(n) memory). "metis" asks METIS,
    which needs the graph in memory several times over.
    """
    if order == "given" or parts == 1:
        return None
    assign = _assign_streaming if order == "streaming" else _assign_by_metis
    return np.argsort(assign(graph, parts), kind="stable")


def _assign_streaming(graph: DiskGraph, parts: int) -> NDArray[np.int32]:
    """Return the part of each node; [n]."""
    part_of = np.full(graph.nodes, -1, np.int32)
    # Rows and stored edges together, as ranks are balanced.
    capacity = _SLACK * (graph.nodes + graph.columns.size) / parts
    sweep = _compiled_sweep()
    loads = np.zeros(parts)
    for _ in range(_PASSES):
        sweep(graph.offsets, graph.columns, part_of, loads, capacity)
    return part_of


@cache
def _compiled_sweep() -> Any:
    import numba

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def sweep(offsets: Any, columns: Any, part_of: Any, loads: Any, capacity: float) -> None:
        counts = np.zeros(loads.size)
        least = 0
        for node in range(part_of.size):
            first = offsets[node]
            end = offsets[node + 1]
            weight = 1.0 + (end - first)
            if part_of[node] >= 0:
                loads[part_of[node]] -= weight
            for k in range(first, end):
                part = part_of[columns[k]]
                if part >= 0:
                    counts[part] += 1.0
            if loads[least] > 0.0:
                least = int(np.argmin(loads))
            best = least
            best_score = -1.0
            for k in range(first, end):
                part = part_of[columns[k]]
                if part < 0 or counts[part] == 0.0:
                    continue
                if loads[part] + weight <= capacity:
                    score = counts[part] * (1.0 - loads[part] / capacity)
                    if score > best_score or (score == best_score and part < best):
                        best = part
                        best_score = score
                counts[part] = 0.0
            part_of[node] = best
            loads[best] += weight

    return sweep


def _assign_by_metis(graph: DiskGraph, parts: int) -> NDArray[np.int32]:
    import pymetis

    if graph.columns.size >= 2**31:
        raise InputError(
            f"METIS has 32-bit indices, too few for {graph.columns.size:,} stored edges; use "
            f"--order streaming."
        )
    weights = 1 + np.diff(graph.offsets)
    rows = pymetis.CSRAdjacency(graph.offsets, np.asarray(graph.columns))
    _, part_of = pymetis.part_graph(parts, rows, vweights=weights)
    return np.asarray(part_of, np.int32)
