"""Edges in the form that NodeData keeps: each undirected edge once, sorted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from agnn.data._report import counted, shown_rows
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


# Weights multiply exponentials and sums over whole neighbourhoods in float32: with these bounds
# no product leaves its range.
_SMALLEST_WEIGHT: Final = 1e-15
_LARGEST_WEIGHT: Final = 1e15


class UnusableWeight(NamedTuple):
    """A weight that no edge can have."""

    place: int
    reason: str  # a sentence


def unusable_weight(weights: NDArray[np.floating]) -> UnusableWeight | None:
    """The first of the weights [k] that is not a usable number above 0; None if all are.

    >>> unusable_weight(np.array([1.0, 2.5])) is None
    True
    >>> unusable_weight(np.array([1.0, -2.0])).reason
    'the weight is -2; it must be above 0.'
    """
    usable = (weights >= _SMALLEST_WEIGHT) & (weights <= _LARGEST_WEIGHT)  # false for NaN
    if usable.all():
        return None
    place = int(np.flatnonzero(~usable)[0])
    value = float(weights[place])
    if np.isnan(value):
        reason = "the weight is missing (NaN)."
    elif np.isinf(value):
        reason = "the weight is infinite."
    elif value == 0:
        reason = "the weight is 0; leave the edge out, or give it a weight above 0."
    elif value < 0:
        reason = f"the weight is {value:g}; it must be above 0."
    else:
        reason = (
            f"the weight is {value:g}; weights must be from {_SMALLEST_WEIGHT:g} to "
            f"{_LARGEST_WEIGHT:g}. Divide all by a typical one."
        )
    return UnusableWeight(place, reason)


def simple_edges(entries: ArrayLike, nodes: int) -> tuple[NDArray[np.int64], RawCounts]:
    """Undirected edges [2, m] of the entries [2, k], and what had to be left out.

    Each edge is there once, first < second, sorted by first and then second; self-loops and
    repetitions are dropped. `nodes` is n: both ends must lie in 0..n-1. Entries that are simple
    already are recognised in one pass and not sorted again.
    """
    raw = _checked_entries(entries, nodes)
    if is_simple(raw):
        return raw, RawCounts(raw.shape[1], duplicate_entries=0, self_loops=0)
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


def is_simple(edges: NDArray[np.int64]) -> bool:
    """Whether `edges` [2, m] are sorted, without repetitions, and each first < second."""
    first, second = edges
    rising = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))
    return bool((first < second).all() and rising.all())


def merged_edges(
    edges: NDArray[np.int64], more: NDArray[np.int64], nodes: int
) -> NDArray[np.int64]:
    """Two sets of simple edges as one; `edges` is not sorted again, whatever its size."""
    bits = nodes.bit_length()
    keys, new = edges[0] << bits | edges[1], more[0] << bits | more[1]
    places = np.searchsorted(keys, new)
    known = np.zeros(new.size, dtype=bool)
    inside = places < keys.size
    known[inside] = keys[places[inside]] == new[inside]
    return np.stack(_ends(np.insert(keys, places[~known], new[~known]), bits))


def edge_notes(
    entries: NDArray[np.int64],
    rows: NDArray[np.int64],
    simple: NDArray[np.int64],
    facts: RawCounts,
    ids: Sequence[Hashable],
    place: str,
) -> list[str]:
    """Sentences about one-way edges, repeated edges and self-loops among the entries [2, k].

    `rows` [k] are the rows of the table that the entries come from.
    """
    notes = []
    distinct = facts.raw_edge_entries - facts.duplicate_entries - facts.self_loops
    one_way = 2 * simple.shape[1] - distinct
    if one_way:
        notes.append(
            f"{place}: {one_way:,} of {counted(simple.shape[1], 'edge')} in one direction only; "
            f"all are taken as undirected."
        )
    if facts.duplicate_entries:
        places = _first_repeated(entries, len(ids))
        i, j = entries[:, places[0]].tolist()
        notes.append(
            f"{place}: {counted(facts.duplicate_entries, 'repeated edge')} dropped, such as "
            f"{ids[i]!r} to {ids[j]!r} in {shown_rows(rows[places])}."
        )
    if facts.self_loops:
        places = np.flatnonzero(entries[0] == entries[1])
        loop = ids[entries[0, places[0]]]
        notes.append(
            f"{place}: {counted(places.size, 'self-loop')} dropped (every method adds its own), "
            f"such as {loop!r} in {shown_rows(rows[places])}."
        )
    return notes


def _first_repeated(entries: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """The positions of the smallest entry, by its nodes, that is there more than once."""
    keys = entries[0] * nodes + entries[1]
    ordered = np.sort(keys)
    twin = ordered[1:][ordered[1:] == ordered[:-1]][0]
    return np.flatnonzero(keys == twin)


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
        raise InputError(f"a graph must have fewer than 2^31 nodes; got {nodes}.")
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
            f"edge {bad[0]}, ({i}, {j}), ends at a node that does not exist: "
            f"the data has {nodes} nodes, 0 to {nodes - 1}."
        )
    return raw.astype(np.int64)
