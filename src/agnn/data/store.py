"""NodeData on disk: one `.npz` format without pickles, and the datasets bundled with the package.

`write_data` and `read_data` keep any graph. `read_data` also reads the two layouts of version
0.1.0: that of the bundled datasets and that of `data.npz` in run folders.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> cora = load_dataset("cora")
>>> with TemporaryDirectory() as folder:
...     checksum = write_data(cora, Path(folder) / "cora.npz")
...     read_data(Path(folder) / "cora.npz").fingerprint == cora.fingerprint
True
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data._edges import RawCounts
from agnn.data._node_data import NodeData
from agnn.data._report import ColumnUse, Reading
from agnn.data.splits import Split
from agnn.errors import AgnnError, DataError, InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.preprocessing import Preprocessing

    Arrays = Mapping[str, NDArray[Any]]

__all__ = [
    "dataset_names",
    "is_bundled",
    "is_row_normalised",
    "load_dataset",
    "preset_name",
    "read_data",
    "write_data",
]

_NAMES: Final = ("citeseer", "cora", "pubmed")
_FORMAT: Final = "agnn-data-1"
_WEIGHTED_FORMAT: Final = "agnn-data-2"  # versions that know no edge weights must not read them
_CHECKSUM: Final = "sha256"
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, LookupError, TypeError,
    AttributeError, RecursionError, MemoryError,
)  # fmt: skip


def write_data(data: NodeData, path: Path, *, source: str = "") -> str:
    """Write features, labels, edges, weights, names and splits; return the content's SHA-256.

    Equal data gives equal files. How the features were made (`preprocessing`) is not included.
    `source` says where the data came from.
    """
    x, indexed = data.features, data.node_ids == tuple(map(str, range(data.nodes)))
    words = {
        "format": _FORMAT if data.edge_weights is None else _WEIGHTED_FORMAT,
        "name": data.name,
        "class_names": data.class_names,
        "node_ids": None if indexed else _plain_ids(data.node_ids),
        "splits": [
            {"name": name, "of": split.name, "seed": split.seed, "sizes": _sizes(split)}
            for name, split in data.splits.items()
        ],
        "facts": asdict(data.facts),
        "row_normalised": data.row_normalised,
        "reading": None if data.reading is None else data.reading.to_dict(),
        "source": source,
    }
    if data.texts:
        words["texts"] = dict(data.texts)
    arrays = {
        "feature_values": x.data,
        "feature_columns": _smallest(x.indices),
        "feature_row_starts": _smallest(x.indptr),
        "feature_shape": np.array(x.shape),
        "labels": _smallest(data.labels),
        "edges": _smallest(data.edges),
        "words": np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
    }
    if data.edge_weights is not None:
        arrays["edge_weights"] = data.edge_weights
    for k, split in enumerate(data.splits.values()):
        arrays[f"split_{k}"] = _smallest(np.concatenate([*split.parts.values()]))
    checksum = _checksum(arrays, sorted(arrays))
    # NumPy dates every member 1980-01-01, so equal data gives equal files.
    np.savez_compressed(path, allow_pickle=False, **arrays, **{_CHECKSUM: np.array(checksum)})
    return checksum


def read_data(
    source: Path | IO[bytes], name: str | None = None, preprocessing: Preprocessing | None = None
) -> NodeData:
    """The data that `write_data` stored, in this version or before; anything else is refused.

    `name` is that of data whose file does not say it: the bundled datasets of version 0.1.0.
    """
    place = f"'{source}'" if isinstance(source, Path) else f"the stored dataset '{name}'"
    try:
        # NumPy does not close a file that it cannot read.
        opened = source.open("rb") if isinstance(source, Path) else nullcontext(source)
        with opened as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        if "values" in arrays:
            return _own_data_0_1(arrays, preprocessing)
        if "words" in arrays:
            return _data(_checked(arrays), preprocessing)
        return _bundled_0_1(name or "data", _checked(arrays, _KEYS_0_1))
    except AgnnError as error:
        raise DataError(f"{place} is damaged or is not stored data: {error}") from error
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise DataError(f"{place} is damaged or is not stored data: {reason}.") from error


def is_row_normalised(path: Path) -> bool:
    """Whether the networks of version 0.1.0 made the rows of the stored features sum to 1."""
    with np.load(path, allow_pickle=False) as archive:
        return bool(json.loads(archive["words"].tobytes())["row_normalised"])


def dataset_names() -> tuple[str, ...]:
    """The names that `load_dataset` accepts, in alphabetical order."""
    return _NAMES


def load_dataset(name: str) -> NodeData:
    """A dataset bundled with the package, with its split "fixed"; no download, no pickle.

    Case does not matter. The object is shared by all callers and cannot be changed.
    """
    if name.lower() not in _NAMES:
        raise unknown_name("dataset", name, _NAMES)
    return _loaded(name.lower())


def is_bundled(data: NodeData) -> bool:
    """Whether `data` is a dataset of the package: same name, content, ids and class names."""
    if data.name not in _NAMES:
        return False
    own = load_dataset(data.name)
    return data is own or (
        data.fingerprint == own.fingerprint and data.names_fingerprint == own.names_fingerprint
    )


def preset_name(data: NodeData) -> str:
    """The name by which hyper-parameters are chosen for `data`; "*" where there are none.

    That is a bundled dataset's name if the data has this name, and its features and edges are
    those of the dataset. Labels and splits may differ. Other data may be called "cora" and still
    needs hyper-parameters of its own.
    """
    name = data.name.lower()
    if name not in _NAMES:
        return "*"
    own = load_dataset(name)
    if data is own:
        return name
    is_same = data.edge_weights is None and all(map(np.array_equal, _inputs(data), _inputs(own)))
    return name if is_same else "*"


@cache
def _loaded(name: str) -> NodeData:
    file = resources.files("agnn.data") / "bundled" / f"{name}.npz"
    try:
        with file.open("rb") as stream:
            return read_data(stream, name)
    except FileNotFoundError as error:
        raise DataError(f"the stored dataset '{name}' is missing; reinstall agnn.") from error


def _inputs(data: NodeData) -> tuple[NDArray[Any], ...]:
    x = data.features
    return x.indptr, x.indices, x.data, data.edges


def _checked(arrays: dict[str, NDArray[Any]], keys: Sequence[str] | None = None) -> Arrays:
    """The arrays without their checksum, which must be right; `keys` are those there must be."""
    if keys is not None and set(arrays) != {*keys, _CHECKSUM}:
        raise DataError(f"it holds the arrays {sorted(arrays)}.")
    stored = str(arrays.pop(_CHECKSUM, "none"))
    found = _checksum(arrays, keys or sorted(arrays))
    if stored != found:
        raise DataError(f"its content has SHA-256 {found}, expected {stored}.")
    return arrays


def _data(arrays: Arrays, preprocessing: Preprocessing | None) -> NodeData:
    words = json.loads(arrays["words"].tobytes())
    if words["format"] not in (_FORMAT, _WEIGHTED_FORMAT):
        raise DataError(
            f"its format is '{words['format']}', this version reads '{_FORMAT}' and "
            f"'{_WEIGHTED_FORMAT}'."
        )
    splits = {}
    for k, each in enumerate(words["splits"]):
        train, validation, test = np.split(arrays[f"split_{k}"], np.cumsum(each["sizes"])[:-1])
        splits[each["name"]] = Split(each["of"], train, validation, test, each["seed"])
    return NodeData.build(
        name=words["name"],
        features=_csr(
            arrays["feature_values"], arrays["feature_columns"], arrays["feature_row_starts"],
            arrays["feature_shape"].tolist(),
        ),
        labels=arrays["labels"],
        edges=arrays["edges"],
        class_names=words["class_names"],
        node_ids=words["node_ids"],
        splits=splits,
        facts=RawCounts(**words["facts"]),
        row_normalised=words["row_normalised"],
        preprocessing=preprocessing,
        reading=_reading(words["reading"]),
        edge_weights=arrays["edge_weights"] if words["format"] == _WEIGHTED_FORMAT else None,
        texts=words.get("texts"),
    )  # fmt: skip


def _own_data_0_1(arrays: Arrays, preprocessing: Preprocessing | None) -> NodeData:
    """`data.npz` of a run folder of version 0.1.0."""
    words = json.loads(arrays["words"].tobytes())
    splits = [Split.from_dict(each) for each in words["splits"]]
    return NodeData.build(
        name=words["name"],
        features=_csr(
            arrays["values"], arrays["columns"], arrays["row_starts"], arrays["shape"].tolist()
        ),
        labels=arrays["labels"],
        edges=arrays["edges"],
        class_names=words["class_names"],
        node_ids=words["node_ids"],
        splits={split.name: split for split in splits},
        facts=RawCounts(**words["facts"]),
        row_normalised=words["row_normalised"],
        preprocessing=preprocessing,
        reading=_reading(words.get("reading")),  # early files do not say
    )


_KEYS_0_1: Final = (
    "feature_values", "feature_columns", "feature_row_ends", "feature_count", "labels", "edges",
    "class_names", "node_ids", "train", "validation", "test", "raw_counts", "source",
)  # fmt: skip


def _bundled_0_1(name: str, arrays: Arrays) -> NodeData:
    """A bundled dataset as version 0.1.0 stored it."""
    starts = np.concatenate([[0], arrays["feature_row_ends"]])
    shape = (starts.size - 1, int(arrays["feature_count"]))
    return NodeData.build(
        name=name,
        features=_csr(arrays["feature_values"], arrays["feature_columns"], starts, shape),
        labels=arrays["labels"],
        edges=arrays["edges"],
        class_names=arrays["class_names"].tolist(),
        node_ids=arrays["node_ids"].tolist() or None,
        splits={"fixed": Split("fixed", arrays["train"], arrays["validation"], arrays["test"])},
        facts=RawCounts(*arrays["raw_counts"].tolist()),
    )


def _csr(
    values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], shape: Sequence[int]
) -> Any:
    from scipy import sparse

    # SciPy takes signed indices only.
    return sparse.csr_array(
        (values, columns.astype(np.int64), starts.astype(np.int64)), shape=(shape[0], shape[1])
    )


def _reading(words: dict[str, Any] | None) -> Reading | None:
    if words is None:
        return None
    lists: dict[str, Any] = {
        "columns": tuple(ColumnUse(**each) for each in words["columns"]),
        "notes": tuple(words["notes"]),
        "leaks": tuple(words.get("leaks", ())),
    }
    return Reading(**words | lists)


def _sizes(split: Split) -> list[int]:
    return [part.size for part in split.parts.values()]


def _plain_ids(ids: Sequence[Hashable]) -> list[str | int | float]:
    """The ids in terms of JSON, which must give them back as they are."""
    plain: list[Any] = [each.item() if isinstance(each, np.generic) else each for each in ids]
    for each in plain:
        if type(each) not in (str, int, float):
            raise InputError(
                f"only ids that are text or numbers can be saved; got {each!r}. Give `node_ids` "
                f"of text to save this graph."
            )
    return plain


def _checksum(arrays: Arrays, keys: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for key in keys:
        array = arrays[key]
        digest.update(f"{key}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _smallest(integers: NDArray[Any]) -> NDArray[Any]:
    """The same values in the smallest integer type that holds them all."""
    lowest, highest = int(integers.min(initial=0)), int(integers.max(initial=0))
    return integers.astype(np.result_type(np.min_scalar_type(lowest), np.min_scalar_type(highest)))
