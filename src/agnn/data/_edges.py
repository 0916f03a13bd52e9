"""Edges in the form that NodeData keeps: each undirected edge once, sorted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data._wording import quantity, row_list
from agnn.errors import DataError, InputError


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
    """Return the first of the weights [k] that is not a usable number above 0; None if all are.

    >>> unusable_weight(np.array([1.0, 2.5])) is None
    True
    >>> unusable_weight(np.array([1.0, -2.0])).reason
    'the weight is -2; it must be above 0.'
    """
    usable = (weights >= _SMALLEST_WEIGHT) & (weights <= _LARGEST_WEIGHT)  # false for NaN
    if usable.all():
        return None
    index = int(np.flatnonzero(~usable)[0])
    value = float(weights[index])
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
    return UnusableWeight(index, reason)


def simple_edges(entries: ArrayLike, nodes: int) -> tuple[NDArray[np.int64], RawCounts]:
    """Return undirected edges [2, m] of the entries [2, k], and what had to be left out.

    Each edge is there once, first < second, sorted by first and then second; self-loops and
    repetitions are dropped. `nodes` is n: both ends must lie in 0..n-1. Entries that are simple
    already are recognised in one pass and not sorted again.
    """
    raw = _checked_entries(entries, nodes)
    if is_simple(raw):
        return raw, RawCounts(raw.shape[1], duplicate_entries=0, self_loops=0)
    bits = nodes.bit_length()  # two ends in one key: shifted, since dividing takes much longer
    distinct = _distinct(raw[0] << bits | raw[1])
    senders, receivers = _ends(distinct, bits)
    loop = senders == receivers
    low = np.minimum(senders, receivers)[~loop]
    high = np.maximum(senders, receivers)[~loop]
    edges = np.stack(_ends(_distinct(low << bits | high), bits))
    counts = RawCounts(
        raw_edge_entries=raw.shape[1],
        duplicate_entries=raw.shape[1] - distinct.size,
        self_loops=int(loop.sum()),
    )
    return edges, counts


def mean_weights(
    edges: NDArray[np.int64],
    entries: NDArray[np.int64],
    weights: NDArray[np.floating],
    nodes: int,
) -> NDArray[np.float32]:
    """Return the weights [m] of simple edges [2, m]: the mean over all entries that name an edge.

    `entries` [2, k], with the `weights` [k], are what the edges were made of: both directions and
    repetitions count, self-loops do not.

    >>> entries = np.array([[0, 1, 2], [1, 0, 1]])
    >>> edges, _ = simple_edges(entries, nodes=3)
    >>> mean_weights(edges, entries, np.array([1.0, 3.0, 5.0]), nodes=3)
    array([2., 5.], dtype=float32)
    """
    is_edge = entries[0] != entries[1]
    positions = _places(edges, entries[:, is_edge], nodes)
    count = np.bincount(positions, minlength=edges.shape[1])
    total = np.bincount(
        positions, np.asarray(weights, np.float64)[is_edge], minlength=edges.shape[1]
    )
    return (total / count).astype(np.float32)


def _places(edges: NDArray[np.int64], entries: NDArray[np.int64], nodes: int) -> NDArray[np.intp]:
    """Return where the entries [2, k], in either direction, stand among the simple edges; [k]."""
    bits = nodes.bit_length()
    low, high = np.sort(entries, axis=0)
    positions: NDArray[np.intp] = np.searchsorted(edges[0] << bits | edges[1], low << bits | high)
    return positions


def checked_weights(weights: ArrayLike, entries: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one usable weight per entry [2, k]; anything else is refused."""
    values = np.asarray(weights)
    if values.shape != entries.shape[1:] or values.dtype.kind not in "fiub":
        raise InputError(
            f"`edge_weights` must be one number per edge, shape [{entries.shape[1]}]; got "
            f"{values.dtype} {list(values.shape)}."
        )
    values = values.astype(np.float64)
    unusable = unusable_weight(values)
    if unusable is not None:
        i, j = entries[:, unusable.place].tolist()
        raise DataError(f"edge {unusable.place}, ({i}, {j}): {unusable.reason}")
    return values


def weight_note(
    entries: NDArray[np.int64],
    weights: NDArray[np.floating],
    edges: NDArray[np.int64],
    means: NDArray[np.float32],
    ids: Sequence[Hashable],
    place: str,
) -> list[str]:
    """Return a sentence about edges whose entries [2, k] differ in their weights [k], if any do.

    `means` [m] are the weights of the simple edges [2, m].
    """
    is_edge = entries[0] != entries[1]
    at = _places(edges, entries[:, is_edge], len(ids))
    gap = np.abs(np.asarray(weights, np.float64)[is_edge] - means[at])
    differing = np.unique(at[gap > 1e-6 * means[at]])  # more than rounding to float32 makes
    if not differing.size:
        return []
    i, j = edges[:, differing[0]].tolist()
    return [
        f"{place}: {quantity(differing.size, 'edge')} with different weights in several entries, "
        f"such as {ids[i]!r} to {ids[j]!r}; each is kept with their mean."
    ]


def is_simple(edges: NDArray[np.int64]) -> bool:
    """Return whether `edges` [2, m] are sorted, without repetitions, and each first < second."""
    i, j = edges
    rising = (i[1:] > i[:-1]) | ((i[1:] == i[:-1]) & (j[1:] > j[:-1]))
    return bool((i < j).all() and rising.all())


def merged_edges(
    edges: NDArray[np.int64],
    more: NDArray[np.int64],
    nodes: int,
    weights: NDArray[np.float32] | None = None,
    more_weights: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
    """Return two sets of simple edges as one, with their weights where both have some.

    `edges` is not sorted again, whatever its size. An edge in both sets keeps its weight in the
    first.
    """
    bits = nodes.bit_length()
    keys = edges[0] << bits | edges[1]
    new = more[0] << bits | more[1]
    positions = np.searchsorted(keys, new)
    is_known = np.zeros(new.size, dtype=bool)
    inside = positions < keys.size
    is_known[inside] = keys[positions[inside]] == new[inside]
    positions = positions[~is_known]
    merged = np.stack(_ends(np.insert(keys, positions, new[~is_known]), bits))
    if weights is None or more_weights is None:
        return merged, None
    return merged, np.insert(weights, positions, more_weights[~is_known])


def edge_notes(
    entries: NDArray[np.int64],
    rows: NDArray[np.int64],
    simple: NDArray[np.int64],
    facts: RawCounts,
    ids: Sequence[Hashable],
    place: str,
    *,
    is_weighted: bool,
) -> list[str]:
    """Return sentences about one-way edges, repeated edges and self-loops among the entries [2, k].

    `rows` [k] are the rows of the table that the entries come from.
    """
    notes = []
    distinct = facts.raw_edge_entries - facts.duplicate_entries - facts.self_loops
    one_way = 2 * simple.shape[1] - distinct
    if one_way:
        notes.append(
            f"{place}: {one_way:,} of {quantity(simple.shape[1], 'edge')} in one direction only; "
            f"all are taken as undirected."
        )
    if facts.duplicate_entries:
        index = _first_repetition(entries, len(ids))
        i, j = entries[:, index[0]].tolist()
        outcome = "with the mean of its weights" if is_weighted else "once"
        notes.append(
            f"{place}: {quantity(facts.duplicate_entries, 'repeated entry', 'repeated entries')}, "
            f"such as {ids[i]!r} to {ids[j]!r} in {row_list(rows[index])}; each edge is kept "
            f"{outcome}."
        )
    if facts.self_loops:
        index = np.flatnonzero(entries[0] == entries[1])
        loop = ids[entries[0, index[0]]]
        notes.append(
            f"{place}: {quantity(index.size, 'self-loop')} dropped (every method adds its own), "
            f"such as {loop!r} in {row_list(rows[index])}."
        )
    return notes


def _first_repetition(entries: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Return the positions of the smallest entry, by its nodes, that is there more than once."""
    keys = entries[0] * nodes + entries[1]
    ordered = np.sort(keys)
    twin = ordered[1:][ordered[1:] == ordered[:-1]][0]
    return np.flatnonzero(keys == twin)


def _ends(keys: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two ends in keys whose last `bits` bits are the second."""
    return keys >> bits, keys & ((1 << bits) - 1)


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys in ascending order; `keys` itself is sorted on the way."""
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
