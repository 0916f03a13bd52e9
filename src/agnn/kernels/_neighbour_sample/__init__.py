"""Neighbour samples: interface and definition."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._backends import implementation
from agnn.kernels._counter import U, below, counter_words


class _Backend(Protocol):
    def forward(
        self,
        graph: Graph,
        nodes: NDArray[np.int64],
        fanout: int,
        key: int,
        offsets: NDArray[np.int64],
    ) -> NDArray[np.int64]: ...


def sample_neighbours(
    graph: Graph, nodes: NDArray[np.int64], fanout: int, key: int, *, backend: str = "auto"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each of some nodes [k] `fanout` of its neighbours, or all where it has no more.

    Every set of that many neighbours is equally likely. The sample of a node is a function of the
    64-bit `key` and the node: neither the other nodes nor threads change it.

    Returns:
        Offsets [k + 1] and the places of the chosen edges in the graph, ascending for each node.
    """
    if graph.device.type != "cpu":
        raise InputError(f"neighbours are sampled on the CPU; the graph is on {graph.device}.")
    if fanout < 1:
        raise InputError(f"`fanout` must be at least 1; got {fanout}.")
    starts = graph.offsets.numpy()
    counts = np.minimum(starts[nodes + 1] - starts[nodes], fanout)
    offsets = np.zeros(nodes.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    chosen: _Backend = implementation("neighbour_sample", backend, "cpu")
    return offsets, chosen.forward(graph, np.ascontiguousarray(nodes), fanout, key, offsets)


def forward(
    graph: Graph,
    nodes: NDArray[np.int64],
    fanout: int,
    key: int,
    offsets: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The places of the chosen edges, node after node from `offsets` [k + 1] on; ascending.

    Floyd's algorithm: of d edges the last f take turns. Number j, from d - f on, draws a number
    from 0 to j; it takes that place, or its own where that place is taken.
    """
    out = np.empty(int(offsets[-1]), np.int64)
    starts = graph.offsets.numpy()
    degrees = graph.degrees.numpy()
    keys = counter_words(key, nodes).tolist()
    for k, node in enumerate(nodes.tolist()):
        degree = int(degrees[node])
        begin = int(starts[node])
        turns = np.arange(max(degree - fanout, 0), degree)
        chosen = set(turns.tolist()) if degree <= fanout else set[int]()
        if degree > fanout:
            drawn = below(counter_words(keys[k], turns), (turns + 1).astype(U))
            for j, position in zip(turns.tolist(), drawn.tolist(), strict=True):
                chosen.add(j if position in chosen else position)
        out[offsets[k] : offsets[k + 1]] = [begin + position for position in sorted(chosen)]
    return out
