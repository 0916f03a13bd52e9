"""A graph's CSR made on disk from edges that do not fit in memory.

The edges are written as they come. Then the entries of each row are counted, both directions of
every edge go into files of consecutive rows, each of which fits in memory, and these are sorted
one after the other. Repeated edges and self-loops are dropped on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agnn._allocator import return_freed_memory
from agnn.errors import InputError

# Edges [2, k], and their weights [k] where they have some.
Entries: TypeAlias = tuple[NDArray[np.integer], NDArray[np.floating] | None]

_AT_ONCE: Final = 1_000_000  # edges
_BITS: Final = 32  # of a column in a key; a row is above them


@dataclass(frozen=True, eq=False)
class DiskGraph:
    """An undirected graph on disk: row i lists the neighbours of node i in ascending order."""

    offsets: NDArray[np.int64]  # [n + 1]
    columns: NDArray[np.int32]  # [m] memory-mapped
    entries: int  # edges as given, with repetitions and self-loops
    self_loops: int  # entries that join a node to itself
    degrees: NDArray[Any]  # [n]; of weights their sums, float64
    weights: NDArray[np.float32] | None = None  # [m] memory-mapped; None: all edges count alike
    uneven: int = 0  # edges that are given with different weights

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.offsets.size - 1

    @property
    def edges(self) -> int:
        """The number of undirected edges."""
        return int(self.offsets[-1]) // 2

    @property
    def notes(self) -> list[str]:
        """Return a sentence on edges whose entries differ in their weights, if any do."""
        if not self.uneven:
            return []
        edges = "edge has" if self.uneven == 1 else "edges have"
        return [f"{self.uneven:,} {edges} different weights in several entries; the mean is kept."]


def disk_graph(batches: Iterable[Entries], nodes: int, folder: Path, memory: int) -> DiskGraph:
    """Return the graph of edges that come in batches; files go to `folder`.

    An edge that is given several times, in either direction, has the mean of its weights. `memory`
    is how many bytes may be used beside three numbers per node.
    """
    if not 0 < nodes < 2**31:
        raise InputError(f"a graph must have from 1 to 2^31 - 1 nodes; got {nodes:,}.")
    raw = folder / "edges.raw"
    raw_weights = folder / "edge-weights.raw"
    entries = 0
    loops = 0
    is_weighted = False
    with raw.open("wb") as stream, raw_weights.open("wb") as weight_stream:
        for batch, weights in batches:
            is_weighted |= weights is not None
            for start in range(0, batch.shape[1], _AT_ONCE):
                piece = slice(start, start + _AT_ONCE)
                pairs = np.asarray(batch[:, piece]).astype(np.int32)
                is_loop = pairs[0] == pairs[1]
                entries += pairs.shape[1]
                loops += int(is_loop.sum())
                stream.write(np.ascontiguousarray(pairs[:, ~is_loop].T).data)
                if weights is not None:
                    weight_stream.write(weights[piece][~is_loop].astype(np.float64).data)
    counts = np.zeros(nodes, np.int64)
    # As many at once as there are nodes: batches may be small, and each adds to all counts.
    for pairs in _pieces(raw, np.int32, 2 * max(_AT_ONCE, nodes // 2)):
        counts += np.bincount(pairs, minlength=nodes)
    # A key takes 8 bytes, and sorting and taking it apart several times that; so does a weight.
    most = max(1_000_000, memory // (192 if is_weighted else 96))
    bounds = _bucket_bounds(counts, most)
    files = _buckets(raw, raw_weights if is_weighted else None, bounds, folder)
    raw.unlink()
    raw_weights.unlink()
    degrees = np.zeros(nodes, np.int64)
    sums = np.zeros(nodes)
    uneven = 0
    is_even = True  # whether all weights are 1, which is the same as none
    means = folder / "weights.raw"
    with (folder / "columns.raw").open("wb") as stream, means.open("wb") as weight_stream:
        for k, (file, weight_file) in enumerate(files):
            return_freed_memory()
            keys = np.fromfile(file, np.int64)
            block = slice(bounds[k], bounds[k + 1])
            rows = block.stop - block.start
            if not is_weighted:
                keys = _distinct(keys)
            else:
                keys, weights, differing = _with_means(keys, np.fromfile(weight_file, np.float64))
                sums[block] = np.bincount((keys >> _BITS) - block.start, weights, minlength=rows)
                is_even &= bool((weights == 1).all())
                uneven += differing
                weight_stream.write(weights.data)
            file.unlink()
            weight_file.unlink()
            degrees[block] = np.bincount((keys >> _BITS) - block.start, minlength=rows)
            stream.write((keys & (2**_BITS - 1)).astype(np.int32).data)
    return DiskGraph(
        offsets=np.concatenate([[0], np.cumsum(degrees)]),
        columns=map_file(folder / "columns.raw", np.int32),
        entries=entries,
        self_loops=loops,
        degrees=degrees if is_even else sums,
        weights=None if is_even else map_file(means, np.float32),
        uneven=uneven // 2,  # both directions were counted
    )


def map_file(file: Path, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a raw file as a read-only array; an empty one cannot be mapped."""
    if not file.stat().st_size:
        return np.empty(0, dtype)
    return np.memmap(file, dtype, "r")


def _bucket_bounds(counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the rows at which buckets of at most about `most` entries begin, and n."""
    ends = np.cumsum(counts)
    buckets = max(1, -(-int(ends[-1]) // most)) if ends.size else 1
    cuts = ends[-1] * np.arange(1, buckets) // buckets
    inner = np.unique(np.searchsorted(ends, cuts) + 1)
    return np.unique(np.concatenate([[0], inner[inner < counts.size], [counts.size]]))


def _buckets(
    raw: Path, raw_weights: Path | None, bounds: NDArray[np.int64], folder: Path
) -> list[tuple[Path, Path]]:
    """Write both directions of every edge as keys (row, column), in one file per range of rows.

    The weights go to a second one. The entries of an edge stay in the order in which they were
    given, so that both directions have the same mean to the last bit.
    """
    ranges = range(bounds.size - 1)
    files = [(folder / f"rows-{k}.raw", folder / f"weights-{k}.raw") for k in ranges]
    with ExitStack() as stack:
        streams = [[stack.enter_context(file.open("wb")) for file in pair] for pair in files]
        weights = None if raw_weights is None else _pieces(raw_weights, np.float64, _AT_ONCE)
        for numbers in _pieces(raw, np.int32, 2 * _AT_ONCE):
            i, j = numbers.reshape(-1, 2).T.astype(np.int64)
            keys = np.stack([i << _BITS | j, j << _BITS | i], 1).ravel()
            values = None if weights is None else np.repeat(next(weights), 2)
            for k, (stream, weight_stream) in enumerate(streams):
                is_in = (keys >= bounds[k] << _BITS) & (keys < bounds[k + 1] << _BITS)
                stream.write(keys[is_in].data)
                if values is not None:
                    weight_stream.write(values[is_in].data)
    return files


def _pieces(raw: Path, dtype: type[np.generic], at_once: int) -> Iterator[NDArray[Any]]:
    """Yield the numbers of a file, which is not mapped: its pages would stay in memory."""
    with raw.open("rb") as stream:
        while (numbers := np.fromfile(stream, dtype, at_once)).size:
            yield numbers


def _with_means(
    keys: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float32], int]:
    """Return the different keys in ascending order, the mean of each one's weights, and a count.

    The count is that of the keys whose weights differ.
    """
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    weights = weights[order]
    is_first = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    index = np.cumsum(is_first) - 1
    # As `agnn.data` takes the mean of edges in memory, addition by addition.
    means = (np.bincount(index, weights) / np.bincount(index)).astype(np.float32)
    is_off = np.abs(weights - means[index]) > 1e-6 * means[index]  # more than rounding makes
    return keys[is_first], means, np.unique(index[is_off]).size


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys in ascending order; `keys` itself is sorted."""
    keys.sort()
    is_first = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]
