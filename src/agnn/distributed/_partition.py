"""Division of a graph into parts on disk, without ever holding all of it in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn._allocator import return_freed_memory
from agnn.data import NodeData
from agnn.data.scaling import statistics_of_sums
from agnn.distributed._external_csr import DiskGraph, disk_graph, map_file
from agnn.distributed._graph_source import GraphSource
from agnn.distributed._ids import TextIds
from agnn.distributed._order import check_order, chosen_order, node_order
from agnn.distributed._parts import (
    MANIFEST,
    Manifest,
    PartFacts,
    manifest_hash,
    part_folder,
    part_text,
)
from agnn.errors import DataError, InputError
from agnn.files import check_new_folder, checksum, json_text, writing_folder
from agnn.graph import Part

_ENTRIES: Final = 1_000_000  # stored edges or features at once
_DENSE: Final = 0.25  # share of stored entries from which features are written as a table


def partition(
    source: NodeData | GraphSource,
    out: Path | str,
    parts: int,
    *,
    order: str = "auto",
    positions: NDArray[np.integer] | None = None,
    memory: int = 4 * 2**30,
    spill: Path | str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Divide a graph into parts in a new folder, which is written completely or not at all.

    Args:
        source: data in memory, or a graph that is read in pieces.
        out: the new folder.
        parts: how many parts, each for one rank or machine.
        order: "given", "streaming" or "metis"; "auto" is METIS where it is installed and `memory`
            allows it, else "streaming".
        positions: [n] an order of your own, the nodes in the order in which they are divided.
        memory: bytes that may be used, about.
        spill: folder for temporary files; None for one beside `out`.
        tell: called with what is being done.

    >>> import tempfile
    >>> from agnn.data import load_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = partition(load_dataset("cora"), f"{folder}/parts", 4, order="streaming")
    >>> made.nodes, made.edges, len(made.parts), made.cut < 0.3
    (2708, 5278, 4, True)
    """
    graph_source = GraphSource.of_data(source) if isinstance(source, NodeData) else source
    if parts < 1:
        raise InputError(f"`parts` must be at least 1; got {parts}.")
    Part.rank_bounds(graph_source.nodes, parts)  # refuses too many
    if positions is None:
        check_order(order)
    check_new_folder(out)

    def begin(step: str) -> None:
        return_freed_memory()  # what the step before has left does not count against `memory`
        tell(step)

    with writing_folder(out) as draft, _scratch(spill, draft) as scratch:
        begin("reading the edges")
        graph = disk_graph(graph_source.edges(), graph_source.nodes, scratch, memory // 2)
        begin("reading the features")
        features = _DiskFeatures.write(graph_source, scratch)
        begin("ordering the nodes")
        order = chosen_order(graph, 1 if positions is not None else parts, order, memory)
        if positions is None:
            positions = node_order(graph, parts, order)
        begin("writing the parts")
        return _Writer(graph_source, graph, features, positions, draft).write(parts, order)


@contextmanager
def _scratch(spill: Path | str | None, draft: Path) -> Iterator[Path]:
    if spill is not None and not Path(spill).is_dir():
        raise InputError(f"there is no folder '{spill}' for temporary files (--spill).")
    folder = Path(tempfile.mkdtemp(prefix="agnn-", dir=spill or draft))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _SparseRows(NamedTuple):
    """A CSR matrix in three arrays."""

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _DiskFeatures:
    """The features on disk in the order given, and statistics of their columns."""

    rows: NDArray[np.float32] | _SparseRows  # [n, d_x]
    width: int
    is_signed: bool
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def write(cls, source: GraphSource, scratch: Path) -> _DiskFeatures:
        """Write the features of a graph to files in `scratch`, in pieces."""
        totals: Any = None
        lengths = [np.zeros(1, np.int64)]
        rows = 0
        width = 0
        is_dense = False
        is_signed = False
        values = scratch / "features.raw"
        indices = scratch / "indices.raw"
        with values.open("wb") as stream, indices.open("wb") as index_stream:
            for chunk in source.features():
                if totals is None:
                    width = chunk.shape[1]
                    entries = chunk.size if isinstance(chunk, np.ndarray) else chunk.nnz
                    is_dense = entries >= _DENSE * chunk.shape[0] * width
                    totals = np.zeros((2, width))
                step = max(1, _ENTRIES // max(1, width))
                for start in range(0, chunk.shape[0], step):
                    piece = chunk[start : start + step]
                    rows += piece.shape[0]
                    if is_dense:
                        table = piece if isinstance(piece, np.ndarray) else piece.toarray()
                        wide = table.astype(np.float64)
                        totals += wide.sum(axis=0), (wide * wide).sum(axis=0)
                        is_signed |= bool(table.size and table.min() < 0)
                        stream.write(np.ascontiguousarray(table, np.float32).data)
                        continue
                    data = piece.data.astype(np.float64)
                    totals[0] += np.bincount(piece.indices, data, width)
                    totals[1] += np.bincount(piece.indices, data * data, width)
                    is_signed |= bool(piece.nnz and piece.data.min() < 0)
                    lengths.append(np.diff(piece.indptr).astype(np.int64))
                    stream.write(np.ascontiguousarray(piece.data, np.float32).data)
                    index_stream.write(np.ascontiguousarray(piece.indices, np.int32).data)
        if rows != source.nodes or totals is None:
            raise DataError(f"there are {source.nodes:,} nodes and {rows:,} rows of features.")
        means, scales = statistics_of_sums(totals[0], totals[1], rows)
        stored: NDArray[np.float32] | _SparseRows
        if is_dense:
            stored = map_file(values, np.float32).reshape(rows, width)
        else:
            offsets = np.cumsum(np.concatenate(lengths))
            stored = _SparseRows(map_file(values, np.float32), map_file(indices, np.int32), offsets)
        return cls(stored, width, is_signed, means, scales)

    def arrays(self, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the arrays of these rows, by the names of their files."""
        if isinstance(self.rows, np.ndarray):
            return {"features": np.asarray(self.rows[nodes])}
        data, indices, offsets = self.rows
        lengths = offsets[nodes + 1] - offsets[nodes]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(offsets[nodes] - starts[:-1], lengths) + np.arange(starts[-1])
        index = np.int32 if starts[-1] < 2**31 else np.int64
        return {
            "features-data": data[entries],
            "features-indices": indices[entries].astype(index),
            "features-indptr": starts.astype(index),
        }


@dataclass(frozen=True, eq=False)
class _Writer:
    """Writes the parts of a graph on disk, one after the other."""

    source: GraphSource
    graph: DiskGraph
    features: _DiskFeatures
    order: NDArray[np.integer] | None
    folder: Path

    def write(self, parts: int, order: str) -> Manifest:
        source = self.source
        graph = self.graph
        n = graph.nodes
        positions = np.arange(n) if self.order is None else np.asarray(self.order, np.int64)
        if self.order is not None and not np.array_equal(np.sort(positions), np.arange(n)):
            raise InputError("`positions` must hold every node once.")
        lengths = np.diff(graph.offsets)[positions]
        bounds = Part.rank_bounds(n, parts, np.concatenate([[0], np.cumsum(lengths)]))
        new_numbers = None
        if self.order is not None:
            new_numbers = np.empty(n, np.int32)
            new_numbers[positions] = np.arange(n, dtype=np.int32)
        facts = [self._part(k, bounds, positions, lengths, new_numbers) for k in range(parts)]
        files = self._whole_files(positions)
        manifest = Manifest(
            partition="",
            name=source.name,
            dataset=source.dataset,
            nodes=n,
            edges=graph.edges,
            entries=graph.entries,
            self_loops=graph.self_loops,
            dropped=source.dropped(),
            feature_count=self.features.width,
            is_dense=isinstance(self.features.rows, np.ndarray),
            is_signed=self.features.is_signed,
            is_weighted=graph.weights is not None,
            column_means=tuple(self.features.means.tolist()),
            column_scales=tuple(self.features.scales.tolist()),
            class_names=tuple(source.class_names),
            masks=tuple(source.masks),
            order=order,
            bounds=tuple(bounds.tolist()),
            preprocessing=source.preprocessing,
            notes=(*source.notes(), *graph.notes),
            files=files,
            parts=tuple(facts),
        )
        manifest = replace(manifest, partition=manifest_hash(manifest.to_dict()))
        for k in range(parts):
            about = part_folder(self.folder, k) / "part.json"
            about.write_bytes(part_text(manifest.partition, k).encode())
        text = json_text(manifest.to_dict(), indent=1)
        (self.folder / MANIFEST).write_text(text, encoding="utf-8")
        return manifest

    def _part(
        self,
        rank: int,
        bounds: NDArray[np.int64],
        positions: NDArray[np.int64],
        lengths: NDArray[np.int64],
        new_numbers: NDArray[np.int32] | None,
    ) -> PartFacts:
        return_freed_memory()  # of the part before
        rows = slice(int(bounds[rank]), int(bounds[rank + 1]))
        nodes = positions[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths[rows])])
        columns, weights = self._edges(nodes, offsets, new_numbers)
        local = Part.local_rows(offsets, columns, bounds, rank)
        degrees = self.graph.degrees
        arrays: dict[str, NDArray[Any]] = {
            **local,
            **({} if weights is None else {"weights": weights}),
            "degrees": np.concatenate([degrees[nodes], degrees[positions[local["halo"]]]]),
            "labels": self.source.labels[nodes],
            **self.features.arrays(nodes),
        }
        home = part_folder(self.folder, rank)
        home.mkdir()
        return PartFacts(
            rows=nodes.size,
            edges=int(offsets[-1]),
            cut=int((local["columns"] >= nodes.size).sum()),
            halo=int(local["halo"].size),
            files={f"{name}.npy": _save(home, name, array) for name, array in arrays.items()},
        )

    def _edges(
        self,
        nodes: NDArray[np.int64],
        offsets: NDArray[np.int64],
        new_numbers: NDArray[np.int32] | None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32] | None]:
        """The neighbours of these nodes by position, ascending for each, and their weights; [m]."""
        starts = self.graph.offsets[nodes]
        stored = self.graph.weights
        if new_numbers is None:
            every = slice(starts[0], starts[0] + offsets[-1])
            return self.graph.columns[every], None if stored is None else stored[every]
        columns = np.empty(int(offsets[-1]), np.int32)
        weights = None if stored is None else np.empty(columns.size, np.float32)
        steps = np.searchsorted(offsets, np.arange(0, offsets[-1] + _ENTRIES, _ENTRIES))
        steps = np.unique(np.concatenate([steps.clip(max=nodes.size), [0, nodes.size]]))
        for a, b in pairwise(steps):
            lengths = np.diff(offsets[a : b + 1])
            rows = np.repeat(np.arange(b - a), lengths)
            entries = (starts[a:b] - (offsets[a:b] - offsets[a]))[rows] + np.arange(rows.size)
            keys = rows << 32 | new_numbers[self.graph.columns[entries]].astype(np.int64)
            piece = slice(offsets[a], offsets[b])
            if stored is None or weights is None:
                keys.sort()
            else:
                order = np.argsort(keys)
                keys = keys[order]
                weights[piece] = stored[entries][order]
            columns[piece] = (keys & (2**32 - 1)).astype(np.int32)
        return columns, weights

    def _whole_files(self, positions: NDArray[np.int64]) -> dict[str, str]:
        """What is about all nodes."""
        arrays: dict[str, NDArray[Any]] = {
            "positions": positions,
            "labels": self.source.labels[positions],
            **{f"mask-{name}": mask[positions] for name, mask in self.source.masks.items()},
        }
        ids = self.source.ids
        if isinstance(ids, TextIds):
            arrays |= {"ids-ends": ids.ends, "ids-bytes": ids.content}
        else:
            arrays["ids"] = np.arange(self.graph.nodes) if ids is None else ids
        return {f"{name}.npy": _save(self.folder, name, array) for name, array in arrays.items()}


def _save(folder: Path, name: str, array: NDArray[Any]) -> str:
    """Write an array; return its checksum."""
    file = folder / f"{name}.npy"
    np.save(file, np.ascontiguousarray(array))
    return checksum(file)
