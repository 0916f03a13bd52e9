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
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.errors import DataError, InputError
from agnn.files import checksum, json_text, read_json
from agnn.graph import Part, local_rows

FORMAT: Final = "agnn-parts-1"
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
    nodes: int
    edges: int  # undirected
    entries: int  # edges as given, with repetitions and self-loops
    self_loops: int
    dropped: int  # edges that name an unknown node
    feature_count: int
    is_dense: bool
    is_signed: bool  # whether a feature is negative
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
        """The manifest in terms of JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {"format": FORMAT, **values, "parts": [vars(part) for part in self.parts]}

    @property
    def cut(self) -> float:
        """The share of the edges that join two parts."""
        return sum(part.cut for part in self.parts) / max(1, 2 * self.edges)


def is_parts_folder(path: Path | str) -> bool:
    """Whether a path is a folder of parts."""
    return (Path(path) / MANIFEST).is_file()


def read_manifest(folder: Path | str) -> Manifest:
    """The manifest of a folder of parts."""
    file = Path(folder) / MANIFEST
    if not file.is_file():
        raise InputError(f"'{folder}' is not a folder of parts: it has no {MANIFEST}.")
    values = read_json(file)
    try:
        if values["format"] != FORMAT:
            raise DataError(f"'{folder}' has format {values['format']!r}; expected '{FORMAT}'.")
        if values["partition"] != manifest_hash(values):
            raise DataError(f"the manifest of '{folder}' is damaged: it is not what was written.")
        parts = tuple(PartFacts(**each) for each in values["parts"])
        known = {each.name: values[each.name] for each in fields(Manifest)}
        lists = {k: tuple(v) for k, v in known.items() if isinstance(v, list)}
        return Manifest(**{**known, **lists, "parts": parts})
    except (KeyError, TypeError) as error:
        raise DataError(f"the manifest of '{folder}' is damaged: {error!r}.") from error


def manifest_hash(values: Mapping[str, Any]) -> str:
    """The hash of all that a manifest says, by which its partition is named."""
    return hashlib.sha256(json_text({**values, "partition": ""}).encode()).hexdigest()


def part_folder(folder: Path | str, rank: int) -> Path:
    """Where a part is."""
    return Path(folder) / f"part-{rank:05d}"


def part_text(partition: str, rank: int) -> str:
    """The content of a part's own file, which says where it belongs."""
    return json_text({"partition": partition, "part": rank})


def part_groups(folder: Path | str, parts: int, ranks: int) -> NDArray[np.int64]:
    """The parts of each rank, from one number to before the next; [ranks + 1]."""
    if not 1 <= ranks <= parts:
        raise InputError(f"'{folder}' has {parts} parts, too few for {ranks} ranks.")
    return np.arange(ranks + 1) * parts // ranks


def open_part(folder: Path | str, rank: int, ranks: int | None = None) -> Part:
    """One rank's rows of a graph, memory-mapped and checked.

    With fewer `ranks` than parts, each has several consecutive parts, joined in temporary files.
    """
    manifest = read_manifest(folder)
    parts = len(manifest.parts)
    ranks = parts if ranks is None else ranks
    groups = part_groups(folder, parts, ranks)
    if not 0 <= rank < ranks:
        raise InputError(f"`rank` must be from 0 to {ranks - 1}; got {rank}.")
    opened = [_opened(folder, manifest, k) for k in range(groups[rank], groups[rank + 1])]
    if ranks == parts:
        return opened[0]
    bounds = np.asarray(manifest.bounds, np.int64)[groups]
    return _joined(opened, bounds, rank, Path(folder))


def open_positions(folder: Path | str) -> NDArray[np.int64]:
    """[n] The row of the node table at each position of the order."""
    return _whole(folder, "positions.npy")


def open_labels(folder: Path | str) -> NDArray[np.int64]:
    """[n] The class at each position of the order; -1 where there is none."""
    return _whole(folder, "labels.npy")


def open_masks(folder: Path | str) -> dict[str, NDArray[np.bool_]]:
    """[n] Whether each position is for training, validation or test; none if nothing says so."""
    return {name: _whole(folder, f"mask-{name}.npy") for name in read_manifest(folder).masks}


def check_parts(folder: Path | str) -> None:
    """Raise unless all parts are there and undamaged."""
    manifest = read_manifest(folder)
    for k in range(len(manifest.parts)):
        _opened(folder, manifest, k)


def read_ids(folder: Path | str) -> list[Any]:
    """[n] The ids by row of the node table; text or whole numbers."""
    if (Path(folder) / "ids.npy").exists():
        return _whole(folder, "ids.npy").tolist()  # type: ignore[no-any-return]
    content = _whole(folder, "ids-bytes.npy").tobytes()
    ends = _whole(folder, "ids-ends.npy").tolist()
    starts = [0, *ends[:-1]]
    return [content[a:b].decode() for a, b in zip(starts, ends, strict=True)]


def _whole(folder: Path | str, name: str) -> NDArray[Any]:
    manifest, file = read_manifest(folder), Path(folder) / name
    if name not in manifest.files or not file.is_file():
        raise DataError(f"'{file}' is missing.")
    if checksum(file) != manifest.files[name]:
        raise DataError(f"'{file}' is damaged: its content is not what was written.")
    return np.load(file, mmap_mode="r")  # type: ignore[no-any-return]


def _opened(folder: Path | str, manifest: Manifest, rank: int) -> Part:
    home, facts = part_folder(folder, rank), manifest.parts[rank]
    if not home.is_dir():
        raise DataError(f"part {rank} of '{folder}' is missing: there is no folder '{home}'.")
    own = home / "part.json"
    if not own.is_file() or own.read_bytes() != part_text(manifest.partition, rank).encode():
        raise DataError(f"'{home}' is from another partition than the manifest of '{folder}'.")
    arrays = {}
    for name, expected in facts.files.items():
        file = home / name
        if not file.is_file():
            raise DataError(f"part {rank} of '{folder}' is incomplete: {name} is missing.")
        if checksum(file) != expected:
            raise DataError(
                f"part {rank} of '{folder}' is damaged: {name} is not what was written."
            )
        # Copy on write: torch has no read-only tensors, and nothing is written.
        arrays[file.stem] = np.load(file, mmap_mode="c")
    if manifest.is_dense:
        features = arrays["features"]
    else:
        from scipy import sparse

        shape = (facts.rows, manifest.feature_count)
        features = sparse.csr_array(tuple(arrays[name] for name in _SPARSE), shape)
    return Part(
        rank=rank,
        bounds=np.asarray(manifest.bounds, np.int64),
        features=features,
        **{name: arrays[name] for name in _ARRAYS},
    )


def _joined(parts: list[Part], bounds: NDArray[np.int64], rank: int, folder: Path) -> Part:
    """Consecutive parts as one, in temporary files that are gone with the process."""
    first, end = int(bounds[rank]), int(bounds[rank + 1])
    scratch = folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())
    sizes = np.concatenate([[0], np.cumsum([part.columns.size for part in parts])])
    columns = _temporary(scratch, (int(sizes[-1]),), np.int32)
    offsets = np.zeros(end - first + 1, np.int64)
    for part, start in zip(parts, sizes, strict=False):
        known = np.concatenate([np.arange(part.first, part.first + part.own), part.halo])
        columns[start : start + part.columns.size] = known.astype(np.int32)[part.columns]
        at = part.first - first
        offsets[at : at + part.own + 1] = part.offsets + start
    degrees = np.concatenate([part.degrees[: part.own] for part in parts])
    if rank == 0 and end == bounds[-1]:  # all of them: local numbers are global ones
        nothing = np.empty(0, np.int64)
        local: dict[str, Any] = {
            "offsets": offsets, "columns": columns, "halo": nothing, "send_rows": nothing,
            "send_counts": np.zeros(1, np.int64),
        }  # fmt: skip
    else:
        local = local_rows(offsets, columns, bounds, rank)
        halo_degrees = np.concatenate([part.degrees[part.own :] for part in parts])
        ids, places = np.unique(np.concatenate([part.halo for part in parts]), return_index=True)
        degrees = np.concatenate(
            [degrees, halo_degrees[places[np.searchsorted(ids, local["halo"])]]]
        )
    return replace(
        parts[0],
        rank=rank,
        bounds=bounds,
        **local,
        degrees=degrees,
        features=_joined_features(parts, end - first, scratch),
        labels=np.concatenate([part.labels for part in parts]),
    )


def _joined_features(parts: list[Part], rows: int, scratch: Path) -> Any:
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
    """A writable array in a file without a name, which the system removes with the process."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, dtype, "w+", shape=shape)
