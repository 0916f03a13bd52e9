"""Any list of edges to the one form we keep: each undirected edge once, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class RawCounts:
    """What the source's edge list held before it was made simple.

    When the source lists every edge in both directions, `raw_edge_entries - duplicate_entries -
    self_loops` is twice the number of undirected edges.
    """

    raw_edge_entries: int
    """Entries (i, j) as the source gives them."""

    duplicate_entries: int
    """Entries (i, j) that repeat an earlier (i, j); (j, i) is another entry."""

    self_loops: int
    """Nodes with at least one entry (i, i)."""


def simple_edges(entries: ArrayLike, nodes: int) -> tuple[NDArray[np.int64], RawCounts]:
    """Undirected edges [2, m] of the entries [2, k], and what had to be left out.

    Each edge is there once, first < second, sorted by first and then second; self-loops and
    repetitions are dropped. `nodes` is n: every end must lie in 0..n-1.
    """
    raw = _checked_entries(entries, nodes)
    bits = nodes.bit_length()  # two ends in one key: shifted, since dividing takes much longer
    distinct = _distinct(raw[0] << bits | raw[1])
    first, second = _ends(distinct, bits)
    loop = first == second
    low, high = np.minimum(first, second)[~loop], np.maximum(first, second)[~loop]
    edges = np.stack(_ends(_distinct(low << bits | high), bits))
    counts = RawCounts(
        raw_edge_entries=raw.shape[1],
        duplicate_entries=raw.shape[1] - distinct.size,
        self_loops=int(loop.sum()),
    )
    return edges, counts


def _ends(keys: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two ends in keys whose last `bits` bits are the second."""
    return keys >> bits, keys & ((1 << bits) - 1)


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different keys in ascending order; `keys` itself is sorted on the way."""
    # NumPy's own unique() hashes: six times as long for ten million keys, and more memory.
    keys.sort()
    is_first = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]


def _checked_entries(entries: ArrayLike, nodes: int) -> NDArray[np.int64]:
    if nodes >= 2**31:
        raise InputError(f"a graph has fewer than 2^31 nodes here; got {nodes}.")
    raw = np.asarray(entries)
    if raw.ndim != 2 or raw.shape[0] != 2:
        hint = " Transpose it if each row is an edge." if raw.shape[1:] == (2,) else ""
        raise InputError(f"`edges` must have shape [2, k]; got {list(raw.shape)}.{hint}")
    if raw.size and raw.dtype.kind not in "iu":
        raise InputError(f"`edges` must hold node indices as integers; got {raw.dtype}.")
    bad = np.flatnonzero(((raw < 0) | (raw >= nodes)).any(axis=0))
    if bad.size:
        i, j = raw[:, bad[0]].tolist()
        raise DataError(
            f"edge {bad[0]}, ({i}, {j}), ends at a node that is not there: "
            f"the data has {nodes} nodes, 0 to {nodes - 1}."
        )
    return raw.astype(np.int64)
