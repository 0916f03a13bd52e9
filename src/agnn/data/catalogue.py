"""The datasets that come with the package: the three graphs of the paper."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data.bundle import read_bundle
from agnn.errors import DataError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data._node_data import NodeData

_NAMES: Final = ("citeseer", "cora", "pubmed")


def dataset_names() -> tuple[str, ...]:
    """Names that `load_dataset` takes, in alphabetical order."""
    return _NAMES


def load_dataset(name: str) -> NodeData:
    """A dataset that comes with the package, with its split "fixed"; no download, no pickle.

    Upper and lower case are the same. The object is shared by all callers and cannot be changed.
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
    return name if data is own or all(map(np.array_equal, _inputs(data), _inputs(own))) else "*"


def _inputs(data: NodeData) -> tuple[NDArray[Any], ...]:
    x = data.features
    return x.indptr, x.indices, x.data, data.edges


@cache
def _loaded(name: str) -> NodeData:
    file = resources.files("agnn.data") / "bundled" / f"{name}.npz"
    try:
        with file.open("rb") as stream:
            return read_bundle(name, stream)
    except FileNotFoundError as error:
        raise DataError(f"the stored dataset '{name}' is missing; reinstall agnn.") from error
