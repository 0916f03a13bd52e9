"""A graph's CSR made on disk from edges that do not fit in memory.

The edges are written as they come. Then the entries of each row are counted, both directions of
every edge go into files of consecutive rows, each of which fits in memory, and these are sorted
one after the other. Repeated edges and self-loops are dropped on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn._allocator import return_freed_memory
from agnn.errors import InputError

_AT_ONCE: Final = 1_000_000  # edges
_BITS: Final = 32  # of a column in a key; a row is above them


@dataclass(frozen=True, eq=False)
class DiskGraph:
    """An undirected graph on disk: row i lists the neighbours of node i in ascending order."""

    offsets: NDArray[np.int64]  # [n + 1]
    columns: NDArray[np.int32]  # [m] memory-mapped
    entries: int  # edges as given, with repetitions and self-loops
    self_loops: int  # entries that join a node to itself

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.offsets.size - 1

    @property
    def edges(self) -> int:
        """The number of undirected edges."""
        return int(self.offsets[-1]) // 2


def disk_graph(
    batches: Iterable[NDArray[np.integer]], nodes: int, folder: Path, memory: int
) -> DiskGraph:
    """Return the graph of edges [2, k] that come in batches; files go to `folder`.

    `memory` is how many bytes may be used beside three numbers per node.
    """
    if not 0 < nodes < 2**31:
        raise InputError(f"a graph must have from 1 to 2^31 - 1 nodes; got {nodes:,}.")
    raw = folder / "edges.raw"
    entries = 0
    loops = 0
    with raw.open("wb") as stream:
        for batch in batches:
            for first in range(0, batch.shape[1], _AT_ONCE):
                pairs = np.asarray(batch[:, first : first + _AT_ONCE]).astype(np.int32)
                is_loop = pairs[0] == pairs[1]
                entries += pairs.shape[1]
                loops += int(is_loop.sum())
                stream.write(np.ascontiguousarray(pairs[:, ~is_loop].T).data)
    counts = np.zeros(nodes, np.int64)
    # As many at once as there are nodes: batches may be small, and each adds to all counts.
    for pairs in _raw_pairs(raw, max(_AT_ONCE, nodes // 2)):
        counts += np.bincount(pairs.ravel(), minlength=nodes)
    # A key takes 8 bytes, and sorting and taking it apart several times that.
    bounds = _bucket_bounds(counts, max(1_000_000, memory // 96))
    files = _buckets(raw, bounds, folder)
    raw.unlink()
    degrees = np.zeros(nodes, np.int64)
    with (folder / "columns.raw").open("wb") as stream:
        for k, file in enumerate(files):
            return_freed_memory()
            keys = _distinct(np.fromfile(file, np.int64))
            file.unlink()
            rows = (keys >> _BITS) - bounds[k]
            degrees[bounds[k] : bounds[k + 1]] = np.bincount(
                rows, minlength=bounds[k + 1] - bounds[k]
            )
            del rows
            stream.write((keys & (2**_BITS - 1)).astype(np.int32).data)
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    return DiskGraph(offsets, map_file(folder / "columns.raw", np.int32), entries, loops)


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


def _buckets(raw: Path, bounds: NDArray[np.int64], folder: Path) -> list[Path]:
    """Write both directions of every edge as keys (row, column), in one file per range of rows."""
    files = [folder / f"rows-{k}.raw" for k in range(bounds.size - 1)]
    streams = [file.open("wb") for file in files]
    try:
        for pairs in _raw_pairs(raw, _AT_ONCE):
            i, j = pairs.T.astype(np.int64)
            keys = np.concatenate([i << _BITS | j, j << _BITS | i])
            for k, stream in enumerate(streams):
                is_in = (keys >= bounds[k] << _BITS) & (keys < bounds[k + 1] << _BITS)
                stream.write(keys[is_in].data)
    finally:
        for stream in streams:
            stream.close()
    return files


def _raw_pairs(raw: Path, at_once: int) -> Iterator[NDArray[np.int32]]:
    # Not mapped: the pages of a mapped file stay in memory.
    with raw.open("rb") as stream:
        while (numbers := np.fromfile(stream, np.int32, 2 * at_once)).size:
            yield numbers.reshape(-1, 2)


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys in ascending order; `keys` itself is sorted."""
    keys.sort()
    is_first = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]
