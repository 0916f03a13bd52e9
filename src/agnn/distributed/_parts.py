"""A folder of parts: a manifest, and one folder of memory-mapped arrays per part.

    PARTS/manifest.json      counts, classes, order, statistics of the features, cut and halo
    PARTS/positions.npy      [n] the row of the node table at each position of the order
    PARTS/labels.npy         [n] classes by position; -1 where there is none
    PARTS/mask-train.npy     [n] whether a node is for training, by position; likewise others
    PARTS/ids.npy            [n] ids by row of the node table: numbers, or ids-*.npy for text
    PARTS/part-00000/        what `agnn.graph.Part` holds, an .npy file per array

Every file has its SHA-256 in the manifest. Those of a part are compared when it is opened. The
manifest itself is named by its hash, which every part repeats.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.data import Scaling
from agnn.data.scaling import scale_rows
from agnn.distributed._ids import StoredIds, TextIds
from agnn.errors import DataError, InputError
from agnn.files import checksum, json_text, read_json
from agnn.graph import Part

FORMAT: Final = "agnn-parts-3"
MANIFEST: Final = "manifest.json"
_ARRAYS: Final = ("offsets", "columns", "halo", "degrees", "send_rows", "send_counts", "labels")
_SPARSE: Final = ("features-data", "features-indices", "features-indptr")


@dataclass(frozen=True)
class PartFacts:
    """What the manifest says of one part."""

    rows: int
    edges: int  # stored: each edge once for each of its ends that the part owns
    cut: int  # stored edges whose other end is in another part
    halo: int  # rows of other parts that it needs
    files: Mapping[str, str]  # SHA-256 by name


@dataclass(frozen=True)
class Manifest:
    """What is in a folder of parts."""

    partition: str  # the hash of the rest, which tells it from every other partition
    name: str
    dataset: str  # the bundled dataset that it is, for its presets; "*" for any other graph
    nodes: int
    edges: int  # undirected
    entries: int  # edges as given, with repetitions and self-loops
    self_loops: int
    dropped: int  # edges that name an unknown node
    feature_count: int
    is_dense: bool
    is_signed: bool  # whether a feature is negative
    is_weighted: bool  # whether edges have weights
    column_means: tuple[float, ...]  # [d_x]
    column_scales: tuple[float, ...]  # [d_x] 1 / deviation; 1 for a constant column
    class_names: tuple[str, ...]
    masks: tuple[str, ...]
    order: str
    bounds: tuple[int, ...]  # [parts + 1] positions
    preprocessing: Mapping[str, Any] | None
    notes: tuple[str, ...]
    files: Mapping[str, str]
    parts: tuple[PartFacts, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest in terms of JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"format": FORMAT, **values, "parts": [vars(part) for part in self.parts]}

    @property
    def cut(self) -> float:
        """The share of the edges that join two parts."""
        return sum(part.cut for part in self.parts) / max(1, 2 * self.edges)


class StoredRows(NamedTuple):
    """The rows of a graph as `agnn.graph.Graph` has them, in memory-mapped files."""

    offsets: NDArray[np.int64]  # [n + 1]
    columns: NDArray[np.int32]  # [m]
    weights: NDArray[np.floating] | None  # [m]; None: every edge counts alike


class PartsFolder:
    """A folder of parts: its manifest, and its arrays, each checked when it is opened."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest = _read_manifest(self.path)

    @staticmethod
    def is_at(path: Path | str) -> bool:
        """Return whether a path is a folder of parts."""
        return (Path(path) / MANIFEST).is_file()

    def part(self, rank: int, ranks: int | None = None, scaling: Scaling = "none") -> Part:
        """Open one rank's rows of the graph, memory-mapped, with their features scaled.

        With fewer `ranks` than parts, each has several consecutive ones, joined in temporary files.
        """
        manifest = self.manifest
        ranks = len(manifest.parts) if ranks is None else ranks
        groups = self.groups(ranks)
        if not 0 <= rank < ranks:
            raise InputError(f"`rank` must be from 0 to {ranks - 1}; got {rank}.")
        parts = [self._open(k) for k in range(groups[rank], groups[rank + 1])]
        part = parts[0]
        if ranks < len(manifest.parts):
            part = _join(parts, np.asarray(manifest.bounds, np.int64)[groups], rank, self._scratch)
        # Sums of signed features mean nothing; see `agnn.data.effective_scaling`.
        acting = "none" if scaling == "sum" and manifest.is_signed else scaling
        statistics = (np.array(manifest.column_means), np.array(manifest.column_scales))
        features: Any = part.features
        return replace(part, features=scale_rows(features, acting, lambda: statistics))

    def groups(self, ranks: int) -> NDArray[np.int64]:
        """Return the parts of each rank, from one number to before the next; [ranks + 1]."""
        parts = len(self.manifest.parts)
        if not 1 <= ranks <= parts:
            raise InputError(f"'{self.path}' has {parts} parts, too few for {ranks} ranks.")
        return np.arange(ranks + 1) * parts // ranks

    def check(self) -> None:
        """Raise unless all parts are there and undamaged."""
        for k in range(len(self.manifest.parts)):
            self._open(k)

    def positions(self) -> NDArray[np.int64]:
        """Return the row of the node table at each position of the order; [n]."""
        return self._whole("positions")

    def labels(self) -> NDArray[np.int64]:
        """Return the class at each position of the order, -1 where there is none; [n]."""
        return self._whole("labels")

    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """Return which positions are for training, validation and test, where that is said; [n]."""
        return {name: self._whole(f"mask-{name}") for name in self.manifest.masks}

    @cached_property
    def ids(self) -> StoredIds:
        """The ids by position; they stay on disk."""
        if "ids.npy" in self.manifest.files:
            ids: NDArray[np.int64] | TextIds = self._whole("ids")
        else:
            ids = TextIds(self._whole("ids-ends"), self._whole("ids-bytes"))
        return StoredIds(self.positions(), ids, f"'{self.path}'")

    @cached_property
    def rows(self) -> StoredRows:
        """The rows of the whole graph by position, in files."""
        parts = [self._open_once(k) for k in range(len(self.manifest.parts))]
        return _join_rows(parts, self._scratch)

    def feature_rows(self, nodes: NDArray[np.int64]) -> Any:
        """Return the features at some positions [k] as a CSR matrix [k, d_x]."""
        from scipy import sparse

        if not nodes.size:
            return sparse.csr_array((0, self.manifest.feature_count), dtype=np.float32)
        bounds = np.asarray(self.manifest.bounds, np.int64)
        homes = np.searchsorted(bounds, nodes, side="right") - 1
        blocks = [
            sparse.csr_array(self._open_once(k).features[nodes[homes == k] - bounds[k]])
            for k in np.unique(homes).tolist()
        ]
        by_part = np.argsort(homes, kind="stable")
        return sparse.vstack(blocks, format="csr")[np.argsort(by_part)]

    def _whole(self, name: str) -> NDArray[Any]:
        """Open an array about all nodes."""
        file = self.path / f"{name}.npy"
        if not file.is_file():
            raise DataError(f"'{file}' is missing.")
        if checksum(file) != self.manifest.files[file.name]:
            raise DataError(f"'{file}' is damaged: its content is not what was written.")
        return np.load(file, mmap_mode="r")  # type: ignore[no-any-return]

    @property
    def _scratch(self) -> Path:
        """Where temporary files go."""
        return self.path if os.access(self.path, os.W_OK) else Path(tempfile.gettempdir())

    @cached_property
    def _open_once(self) -> Callable[[int], Part]:
        """`_open`, checking every part once."""
        return cache(self._open)

    def _open(self, number: int) -> Part:
        """Open a part as it was written."""
        home = part_folder(self.path, number)
        facts = self.manifest.parts[number]
        name = f"part {number} of '{self.path}'"
        if not home.is_dir():
            raise DataError(f"{name} is missing: there is no folder '{home}'.")
        about = home / "part.json"
        expected = part_text(self.manifest.partition, number).encode()
        if not about.is_file() or about.read_bytes() != expected:
            raise DataError(f"'{home}' is from another partition than '{self.path / MANIFEST}'.")
        arrays = {}
        for file_name, sha256 in facts.files.items():
            file = home / file_name
            if not file.is_file():
                raise DataError(f"{name} is incomplete: {file_name} is missing.")
            if checksum(file) != sha256:
                raise DataError(f"{name} is damaged: {file_name} is not what was written.")
            # Copy on write: torch has no read-only tensors, and nothing is written.
            arrays[file.stem] = np.load(file, mmap_mode="c")
        if self.manifest.is_dense:
            features = arrays["features"]
        else:
            from scipy import sparse

            shape = (facts.rows, self.manifest.feature_count)
            features = sparse.csr_array(tuple(arrays[key] for key in _SPARSE), shape)
        return Part(
            rank=number,
            bounds=np.asarray(self.manifest.bounds, np.int64),
            features=features,
            weights=arrays.get("weights"),
            **{key: arrays[key] for key in _ARRAYS},
        )


def _read_manifest(folder: Path) -> Manifest:
    if not PartsFolder.is_at(folder):
        raise InputError(f"'{folder}' is not a folder of parts: it has no {MANIFEST}.")
    values = read_json(folder / MANIFEST)
    try:
        if values["format"] != FORMAT:
            raise DataError(f"'{folder}' has format {values['format']!r}; expected '{FORMAT}'.")
        if values["partition"] != manifest_hash(values):
            raise DataError(f"the manifest of '{folder}' is damaged: it is not what was written.")
        facts = {field.name: values[field.name] for field in fields(Manifest)}
        facts |= {name: tuple(value) for name, value in facts.items() if isinstance(value, list)}
        return Manifest(**facts | {"parts": tuple(PartFacts(**part) for part in facts["parts"])})
    except (KeyError, TypeError) as error:
        raise DataError(f"the manifest of '{folder}' is damaged: {error!r}.") from error


def manifest_hash(values: Mapping[str, Any]) -> str:
    """Return the hash of all that a manifest says, by which its partition is named."""
    return hashlib.sha256(json_text({**values, "partition": ""}).encode()).hexdigest()


def part_folder(folder: Path, number: int) -> Path:
    """Return where a part is."""
    return folder / f"part-{number:05d}"


def part_text(partition: str, number: int) -> str:
    """Return the content of a part's own file, which says where it belongs."""
    return json_text({"partition": partition, "part": number})


def _join_rows(parts: list[Part], scratch: Path) -> StoredRows:
    """Return the rows of consecutive parts, in temporary files that are gone with the process.

    Columns are positions in the whole order.
    """
    first_row = parts[0].first
    sizes = np.concatenate([[0], np.cumsum([part.columns.size for part in parts])])
    columns = _temporary(scratch, (int(sizes[-1]),), np.int32)
    weights = None
    if parts[0].weights is not None:
        weights = _temporary(scratch, columns.shape, np.float32)
    offsets = np.zeros(sum(part.own for part in parts) + 1, np.int64)
    for part, start in zip(parts, sizes, strict=False):
        nodes = np.concatenate([np.arange(part.first, part.first + part.own), part.halo])
        edges = slice(start, start + part.columns.size)
        columns[edges] = nodes.astype(np.int32)[part.columns]
        if weights is not None:
            weights[edges] = part.weights
        at = part.first - first_row
        offsets[at : at + part.own + 1] = part.offsets + start
    return StoredRows(offsets, columns, weights)


def _join(parts: list[Part], bounds: NDArray[np.int64], rank: int, scratch: Path) -> Part:
    """Return consecutive parts as one."""
    first_row = int(bounds[rank])
    end = int(bounds[rank + 1])
    offsets, columns, weights = _join_rows(parts, scratch)
    degrees = np.concatenate([part.degrees[: part.own] for part in parts])
    if rank == 0 and end == bounds[-1]:  # all of them: local numbers are global ones
        nothing = np.empty(0, np.int64)
        local: dict[str, Any] = {"offsets": offsets, "columns": columns}
        local |= {"halo": nothing, "send_rows": nothing, "send_counts": np.zeros(1, np.int64)}
    else:
        local = Part.local_rows(offsets, columns, bounds, rank)
        halo_degrees = np.concatenate([part.degrees[part.own :] for part in parts])
        nodes, indices = np.unique(np.concatenate([p.halo for p in parts]), return_index=True)
        indices = indices[np.searchsorted(nodes, local["halo"])]
        degrees = np.concatenate([degrees, halo_degrees[indices]])
    return replace(
        parts[0],
        rank=rank,
        bounds=bounds,
        **local,
        degrees=degrees,
        features=_join_features(parts, end - first_row, scratch),
        labels=np.concatenate([part.labels for part in parts]),
        weights=weights,
    )


def _join_features(parts: list[Part], rows: int, scratch: Path) -> Any:
    if isinstance(parts[0].features, np.ndarray):
        dense = _temporary(scratch, (rows, parts[0].features.shape[1]), np.float32)
        start = 0
        for part in parts:
            dense[start : start + part.own] = part.features
            start += part.own
        return dense
    from scipy import sparse

    blocks: list[Any] = [part.features for part in parts]
    return sparse.vstack(blocks, format="csr")


def _temporary(folder: Path, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return a writable array in a file without a name, which is gone with the process."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, dtype, "w+", shape=shape)
