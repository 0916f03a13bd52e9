"""Division of a graph into parts on disk, without ever holding all of it in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.distributed._external_csr import DiskGraph, disk_graph, mapped
from agnn.distributed._order import check_order, node_order
from agnn.distributed._part_sources import PartSource, TextIds
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
from agnn.graph import local_rows, rank_bounds

_ENTRIES: Final = 4_000_000  # stored edges or features at once
_DENSE: Final = 0.25  # share of stored entries from which features are written as a table


def partition(
    source: NodeData | PartSource,
    out: Path | str,
    parts: int,
    *,
    order: str = "given",
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
        order: "given", "streaming" or "metis"; see `agnn.distributed.ORDERS`.
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
    graph_source = PartSource.of_data(source) if isinstance(source, NodeData) else source
    if parts < 1:
        raise InputError(f"`parts` must be at least 1; got {parts}.")
    rank_bounds(graph_source.nodes, parts)  # refuses too many
    if positions is None:
        check_order(order)
    check_new_folder(out)
    with writing_folder(out) as draft, _scratch(spill, draft) as scratch:
        tell("reading the edges")
        edges = graph_source.edges(scratch)
        graph = disk_graph(edges, graph_source.nodes, scratch, memory // 2)
        tell("reading the features")
        features = _DiskFeatures.written(graph_source, scratch)
        tell("ordering the nodes")
        found = node_order(graph, parts, order) if positions is None else np.asarray(positions)
        tell("writing the parts")
        return _Writer(graph_source, graph, features, found, draft).write(parts, order)


@contextmanager
def _scratch(spill: Path | str | None, draft: Path) -> Iterator[Path]:
    if spill is not None and not Path(spill).is_dir():
        raise InputError(f"there is no folder '{spill}' for temporary files (--spill).")
    folder = Path(tempfile.mkdtemp(prefix="agnn-", dir=spill or draft))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class _DiskFeatures:
    """The features on disk in the order given, and statistics of their columns."""

    dense: NDArray[np.float32] | None  # [n, d_x]
    sparse: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None  # data, indices, indptr
    width: int
    is_signed: bool
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def written(cls, source: PartSource, scratch: Path) -> _DiskFeatures:
        totals: Any = None
        lengths = [np.zeros(1, np.int64)]
        rows, is_dense, is_signed, width = 0, False, False, 0
        values, indices = scratch / "features.raw", scratch / "indices.raw"
        with values.open("wb") as stream, indices.open("wb") as places:
            for chunk in source.features():
                if totals is None:
                    width = chunk.shape[1]
                    stored = chunk.size if isinstance(chunk, np.ndarray) else chunk.nnz
                    is_dense = stored >= _DENSE * chunk.shape[0] * width
                    totals = np.zeros((2, width))
                step = max(1, _ENTRIES // max(1, width))
                for first in range(0, chunk.shape[0], step):
                    piece = chunk[first : first + step]
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
                    places.write(np.ascontiguousarray(piece.indices, np.int32).data)
        if rows != source.nodes or totals is None:
            raise DataError(f"there are {source.nodes:,} nodes and {rows:,} rows of features.")
        means, squares = totals / rows
        variances = np.maximum(squares - means**2, 0.0)
        is_constant = variances <= 1e-12 * np.maximum(squares, 1e-300)
        scales = 1.0 / np.sqrt(np.where(is_constant, 1.0, variances))
        kept = mapped(values, np.float32)
        if is_dense:
            return cls(kept.reshape(rows, width), None, width, is_signed, means, scales)
        three = (kept, mapped(indices, np.int32), np.cumsum(np.concatenate(lengths)))
        return cls(None, three, width, is_signed, means, scales)

    def rows(self, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The arrays of these rows, by the names of their files."""
        if self.dense is not None:
            return {"features": np.asarray(self.dense[nodes])}
        assert self.sparse is not None  # noqa: S101 (one of the two)
        data, indices, ends = self.sparse
        lengths = ends[nodes + 1] - ends[nodes]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(ends[nodes] - starts[:-1], lengths) + np.arange(starts[-1])
        index = np.int32 if starts[-1] < 2**31 else np.int64
        return {
            "features-data": data[entries],
            "features-indices": indices[entries].astype(index),
            "features-indptr": starts.astype(index),
        }


@dataclass(frozen=True, eq=False)
class _Writer:
    """Writes the parts of a graph on disk, one after the other."""

    source: PartSource
    graph: DiskGraph
    features: _DiskFeatures
    order: NDArray[np.integer] | None
    folder: Path

    def write(self, parts: int, order: str) -> Manifest:
        source, graph, n = self.source, self.graph, self.graph.nodes
        positions = np.arange(n) if self.order is None else self.order.astype(np.int64)
        if self.order is not None and not np.array_equal(np.sort(positions), np.arange(n)):
            raise InputError("`positions` must hold every node once.")
        degrees = np.diff(graph.offsets)[positions]
        bounds = rank_bounds(n, parts, np.concatenate([[0], np.cumsum(degrees)]))
        new_numbers = None
        if self.order is not None:
            new_numbers = np.empty(n, np.int32)
            new_numbers[positions] = np.arange(n, dtype=np.int32)
        facts = [self._part(k, bounds, positions, degrees, new_numbers) for k in range(parts)]
        files = self._whole_files(positions)
        manifest = Manifest(
            partition="",
            name=source.name,
            nodes=n,
            edges=graph.edges,
            entries=graph.entries,
            self_loops=graph.self_loops,
            dropped=source.dropped(),
            feature_count=self.features.width,
            is_dense=self.features.dense is not None,
            is_signed=self.features.is_signed,
            column_means=tuple(self.features.means.tolist()),
            column_scales=tuple(self.features.scales.tolist()),
            class_names=tuple(source.class_names),
            masks=tuple(source.masks),
            order=order,
            bounds=tuple(bounds.tolist()),
            preprocessing=source.preprocessing,
            notes=tuple(source.notes()),
            files=files,
            parts=tuple(facts),
        )
        manifest = replace(manifest, partition=manifest_hash(manifest.to_dict()))
        for k in range(parts):
            own = part_folder(self.folder, k) / "part.json"
            own.write_bytes(part_text(manifest.partition, k).encode())
        text = json_text(manifest.to_dict(), indent=1)
        (self.folder / MANIFEST).write_text(text, encoding="utf-8")
        return manifest

    def _part(
        self,
        rank: int,
        bounds: NDArray[np.int64],
        positions: NDArray[np.int64],
        degrees: NDArray[np.int64],
        new_numbers: NDArray[np.int32] | None,
    ) -> PartFacts:
        own = slice(int(bounds[rank]), int(bounds[rank + 1]))
        nodes = positions[own]
        offsets = np.concatenate([[0], np.cumsum(degrees[own])])
        local = local_rows(offsets, self._columns(nodes, offsets, new_numbers), bounds, rank)
        arrays: dict[str, NDArray[Any]] = {
            **local,
            "degrees": np.concatenate([degrees[own], degrees[local["halo"]]]),
            "labels": self.source.labels[nodes],
            **self.features.rows(nodes),
        }
        home = part_folder(self.folder, rank)
        home.mkdir()
        return PartFacts(
            rows=nodes.size,
            edges=int(offsets[-1]),
            cut=int((local["columns"] >= nodes.size).sum()),
            halo=int(local["halo"].size),
            files={f"{name}.npy": _saved(home, name, array) for name, array in arrays.items()},
        )

    def _columns(
        self,
        nodes: NDArray[np.int64],
        offsets: NDArray[np.int64],
        new_numbers: NDArray[np.int32] | None,
    ) -> NDArray[np.int32]:
        """The neighbours of these nodes by position, ascending for each; [m]."""
        starts = self.graph.offsets[nodes]
        if new_numbers is None:
            found: NDArray[np.int32] = self.graph.columns[starts[0] : starts[0] + offsets[-1]]
            return found
        columns = np.empty(int(offsets[-1]), np.int32)
        steps = np.searchsorted(offsets, np.arange(0, offsets[-1] + _ENTRIES, _ENTRIES))
        steps = np.unique(np.concatenate([steps.clip(max=nodes.size), [0, nodes.size]]))
        for a, b in pairwise(steps):
            lengths = np.diff(offsets[a : b + 1])
            rows = np.repeat(np.arange(b - a), lengths)
            places = (starts[a:b] - (offsets[a:b] - offsets[a]))[rows] + np.arange(rows.size)
            keys = rows << 32 | new_numbers[self.graph.columns[places]].astype(np.int64)
            keys.sort()
            columns[offsets[a] : offsets[b]] = (keys & (2**32 - 1)).astype(np.int32)
        return columns

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
        return {f"{name}.npy": _saved(self.folder, name, each) for name, each in arrays.items()}


def _saved(folder: Path, name: str, array: NDArray[Any]) -> str:
    file = folder / f"{name}.npy"
    np.save(file, np.ascontiguousarray(array))
    return checksum(file)
