"""NodeData on disk: one `.npz` format without pickles, and the datasets bundled with the package.

`write_data` and `read_data` keep any graph.

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
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data._edges import RawCounts
from agnn.data._input_files import DAMAGE
from agnn.data._node_data import NodeData
from agnn.data._report import ColumnUse, Reading
from agnn.data._splits._split import Split
from agnn.data.preprocessing import Preprocessing
from agnn.errors import AgnnError, DataError, InputError, unknown_name

if TYPE_CHECKING:
    Arrays = Mapping[str, NDArray[Any]]


_NAMES: Final = ("citeseer", "cora", "pubmed")
_FORMAT: Final = "agnn-data-1"
_CHECKSUM: Final = "sha256"


def write_data(data: NodeData, path: Path, *, source: str = "") -> str:
    """Write features, labels, edges, weights, names and splits; return the content's SHA-256.

    Equal data gives equal files. How the features were made (`preprocessing`) is not included.
    `source` says where the data came from.
    """
    x = data.features
    has_indices_for_ids = data.node_ids == tuple(map(str, range(data.nodes)))
    description = {
        "format": _FORMAT,
        "name": data.name,
        "class_names": data.class_names,
        "node_ids": None if has_indices_for_ids else _plain_ids(data.node_ids),
        "splits": [
            {"name": name, "of": split.name, "seed": split.seed, "sizes": _sizes(split)}
            for name, split in data.splits.items()
        ],
        "facts": asdict(data.facts),
        "reading": None if data.reading is None else data.reading.to_dict(),
        "source": source,
        "texts": dict(data.texts),
    }
    arrays = {
        "feature_values": x.data,
        "feature_columns": _smallest(x.indices),
        "feature_row_starts": _smallest(x.indptr),
        "feature_shape": np.array(x.shape),
        "labels": _smallest(data.labels),
        "edges": _smallest(data.edges),
        "words": np.frombuffer(json.dumps(description).encode(), dtype=np.uint8),
    }
    if data.edge_weights is not None:
        arrays["edge_weights"] = data.edge_weights
    for k, split in enumerate(data.splits.values()):
        arrays[f"split_{k}"] = _smallest(np.concatenate([*split.parts.values()]))
    checksum = _checksum(arrays)
    # NumPy dates every member 1980-01-01, so equal data gives equal files.
    np.savez_compressed(path, allow_pickle=False, **arrays, **{_CHECKSUM: np.array(checksum)})
    return checksum


def read_data(
    source: Path | IO[bytes], name: str = "", preprocessing: Preprocessing | None = None
) -> NodeData:
    """Return the data that `write_data` stored; anything else is refused.

    `name` is what error messages call a source that is a stream.
    """
    title = f"'{source}'" if isinstance(source, Path) else f"the stored dataset '{name}'"
    try:
        # NumPy does not close a file that it cannot read.
        opened = source.open("rb") if isinstance(source, Path) else nullcontext(source)
        with opened as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        _check_content(arrays)
        return _data(arrays, preprocessing)
    except AgnnError as error:
        raise DataError(f"{title} is damaged or is not stored data: {error}") from error
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise DataError(f"{title} is damaged or is not stored data: {reason}.") from error


def dataset_names() -> tuple[str, ...]:
    """Return the names that `load_dataset` accepts, in alphabetical order."""
    return _NAMES


def load_dataset(name: str) -> NodeData:
    """Return a dataset bundled with the package, with its split "fixed"; no download, no pickle.

    Case does not matter. The object is shared by all callers and cannot be changed.
    """
    if name.lower() not in _NAMES:
        raise unknown_name("dataset", name, _NAMES)
    return _read_bundled(name.lower())


def is_bundled(data: NodeData) -> bool:
    """Return whether `data` is a bundled dataset: same name, content, ids and class names."""
    if data.name not in _NAMES:
        return False
    bundled = load_dataset(data.name)
    return data is bundled or (
        data.fingerprint == bundled.fingerprint
        and data.names_fingerprint == bundled.names_fingerprint
    )


def preset_name(data: NodeData) -> str:
    """Return the name by which hyper-parameters are chosen for `data`; "*" where there are none.

    That is a bundled dataset's name if the data has this name, and its features and edges are
    those of the dataset. Labels and splits may differ. Other data may be called "cora" and still
    needs hyper-parameters of its own.
    """
    if data.dataset is not None:
        return data.dataset
    name = data.name.lower()
    if name not in _NAMES:
        return "*"
    bundled = load_dataset(name)
    if data is bundled:
        return name
    is_same = data.edge_weights is None and all(
        map(np.array_equal, _inputs(data), _inputs(bundled))
    )
    return name if is_same else "*"


@cache
def _read_bundled(name: str) -> NodeData:
    file = resources.files("agnn.data") / "bundled" / f"{name}.npz"
    try:
        with file.open("rb") as stream:
            return read_data(stream, name)
    except FileNotFoundError as error:
        raise DataError(f"the stored dataset '{name}' is missing; reinstall agnn.") from error


def _inputs(data: NodeData) -> tuple[NDArray[Any], ...]:
    x = data.features
    return x.indptr, x.indices, x.data, data.edges


def _check_content(arrays: Arrays) -> None:
    """Raise unless the stored checksum is that of the other arrays."""
    stored = str(arrays.get(_CHECKSUM, "none"))
    actual = _checksum({key: array for key, array in arrays.items() if key != _CHECKSUM})
    if stored != actual:
        raise DataError(f"its content has SHA-256 {actual}, expected {stored}.")


def _data(arrays: Arrays, preprocessing: Preprocessing | None) -> NodeData:
    description = json.loads(arrays["words"].tobytes())
    if description["format"] != _FORMAT:
        raise DataError(f"its format is '{description['format']}', this version reads '{_FORMAT}'.")
    splits = {}
    for k, split in enumerate(description["splits"]):
        train, validation, test = np.split(arrays[f"split_{k}"], np.cumsum(split["sizes"])[:-1])
        splits[split["name"]] = Split(split["of"], train, validation, test, split["seed"])
    return NodeData.build(
        name=description["name"],
        features=_csr(
            arrays["feature_values"],
            arrays["feature_columns"],
            arrays["feature_row_starts"],
            arrays["feature_shape"].tolist(),
        ),
        labels=arrays["labels"],
        edges=arrays["edges"],
        class_names=description["class_names"],
        node_ids=description["node_ids"],
        splits=splits,
        facts=RawCounts(**description["facts"]),
        preprocessing=preprocessing,
        reading=_reading(description["reading"]),
        edge_weights=arrays.get("edge_weights"),
        texts=description["texts"],
    )


def _csr(
    values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], shape: Sequence[int]
) -> Any:
    from scipy import sparse

    # SciPy takes signed indices only.
    return sparse.csr_array(
        (values, columns.astype(np.int64), starts.astype(np.int64)), shape=(shape[0], shape[1])
    )


def _reading(values: dict[str, Any] | None) -> Reading | None:
    if values is None:
        return None
    lists: dict[str, Any] = {
        "columns": tuple(ColumnUse(**column) for column in values["columns"]),
        "notes": tuple(values["notes"]),
        "leaks": tuple(values["leaks"]),
    }
    return Reading(**values | lists)


def _sizes(split: Split) -> list[int]:
    return [part.size for part in split.parts.values()]


def _plain_ids(ids: Sequence[Hashable]) -> list[str | int | float]:
    """Return the ids in terms of JSON, which must give them back as they are."""
    plain: list[Any] = [
        node_id.item() if isinstance(node_id, np.generic) else node_id for node_id in ids
    ]
    for node_id in plain:
        if type(node_id) not in (str, int, float):
            raise InputError(
                f"only ids that are text or numbers can be saved; got {node_id!r}. Give `node_ids` "
                f"of text to save this graph."
            )
    return plain


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for key, array in sorted(arrays.items()):
        digest.update(f"{key}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _smallest(integers: NDArray[Any]) -> NDArray[Any]:
    """Return the same values in the smallest integer type that holds them all."""
    lowest = np.min_scalar_type(int(integers.min(initial=0)))
    highest = np.min_scalar_type(int(integers.max(initial=0)))
    return integers.astype(np.result_type(lowest, highest))
