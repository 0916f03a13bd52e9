"""NodeData as one compact `.npz` without pickles, guarded by a checksum over its arrays."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data._node_data import NodeData
from agnn.data.edges import RawCounts
from agnn.data.splits import Split
from agnn.errors import AgnnError, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

_CHECKSUM: Final = "sha256"
_KEYS: Final = (
    "feature_values",
    "feature_columns",
    "feature_row_ends",
    "feature_count",
    "labels",
    "edges",
    "class_names",
    "node_ids",  # empty where the ids are the indices
    "train",
    "validation",
    "test",
    "raw_counts",
    "source",  # where the data came from, for people
)


def write_bundle(data: NodeData, path: Path, source: str) -> str:
    """Write `data` with its fixed split, the same bytes each time; gives back the checksum."""
    x, fixed, facts = data.features, data.split("fixed"), data.facts
    indexed = data.node_ids == tuple(map(str, range(data.nodes)))
    values = (
        x.data,
        _smallest(x.indices),
        _smallest(x.indptr[1:]),
        np.array(data.feature_count),
        _smallest(data.labels),
        _smallest(data.edges),
        np.array(data.class_names),
        np.array([] if indexed else data.node_ids, dtype=np.str_),
        *map(_smallest, fixed.parts.values()),
        np.array([facts.raw_edge_entries, facts.duplicate_entries, facts.self_loops]),
        np.array(source),
    )
    arrays = dict(zip(_KEYS, values, strict=True))
    checksum = _checksum(arrays)
    # NumPy dates every member 1980-01-01, so that equal data gives equal files.
    np.savez_compressed(path, allow_pickle=False, **arrays, **{_CHECKSUM: np.array(checksum)})
    return checksum


def read_bundle(name: str, stream: IO[bytes]) -> NodeData:
    """The data that `write_bundle` stored; a stream that is anything else is refused."""
    try:
        return _data(name, _checked_arrays(stream))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError) as error:
        raise DataError(f"the stored dataset '{name}' is damaged: {error}.") from error
    except AgnnError as error:
        raise DataError(f"the stored dataset '{name}' is damaged: {error}") from error


def _checked_arrays(stream: IO[bytes]) -> Arrays:
    with np.load(stream, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    if set(arrays) != {*_KEYS, _CHECKSUM}:
        raise DataError(f"it holds the arrays {sorted(arrays)}.")
    stored, found = str(arrays.pop(_CHECKSUM)), _checksum(arrays)
    if stored != found:
        raise DataError(f"its content has SHA-256 {found}, expected {stored}.")
    return arrays


def _data(name: str, arrays: Arrays) -> NodeData:
    from scipy import sparse

    columns = arrays["feature_columns"].astype(np.int32)
    row_ends = np.concatenate([[0], arrays["feature_row_ends"]]).astype(np.int32)
    shape = (row_ends.size - 1, int(arrays["feature_count"]))
    return NodeData.build(
        name=name,
        features=sparse.csr_array((arrays["feature_values"], columns, row_ends), shape=shape),
        labels=arrays["labels"],
        edges=arrays["edges"],
        class_names=arrays["class_names"].tolist(),
        node_ids=arrays["node_ids"].tolist() or None,
        splits={"fixed": Split("fixed", arrays["train"], arrays["validation"], arrays["test"])},
        facts=RawCounts(*arrays["raw_counts"].tolist()),
    )


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for key in _KEYS:
        array = arrays[key]
        digest.update(f"{key}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _smallest(integers: NDArray[Any]) -> NDArray[Any]:
    """The same values in the smallest integer type that holds them all."""
    lowest, highest = int(integers.min(initial=0)), int(integers.max(initial=0))
    return integers.astype(np.result_type(np.min_scalar_type(lowest), np.min_scalar_type(highest)))
