"""The datasets that come with the package: the three graphs of the paper."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from agnn.data.bundle import read_bundle
from agnn.errors import DataError, unknown_name

if TYPE_CHECKING:
    from agnn.data.node_data import NodeData

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


@cache
def _loaded(name: str) -> NodeData:
    file = resources.files("agnn.data") / "bundled" / f"{name}.npz"
    try:
        with file.open("rb") as stream:
            return read_bundle(name, stream)
    except FileNotFoundError as error:
        raise DataError(f"the stored dataset '{name}' is missing; reinstall agnn.") from error
