"""Labels of nodes, and the names of nodes and classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def checked_labels(labels: ArrayLike, nodes: int, classes: int) -> NDArray[np.int64]:
    """The labels [n], each a class index or -1 for none, as a read-only copy."""
    given = np.asarray(labels)
    if given.shape != (nodes,):
        raise InputError(f"`labels` must have shape [{nodes}], as features; got {[*given.shape]}.")
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"`labels` must be integers, -1 for no label; got {given.dtype}.")
    bad = np.flatnonzero((given < -1) | (given >= classes))
    if bad.size:
        raise DataError(
            f"node {bad[0]} has label {given[bad[0]]}; with {classes} classes labels run "
            f"from 0 to {classes - 1}, or -1 for none."
        )
    checked = given.astype(np.int64)
    checked.setflags(write=False)
    return checked


def checked_ids(node_ids: Sequence[Hashable] | None, nodes: int) -> tuple[Hashable, ...]:
    """The ids of the n nodes, all different; the indices as text where none are given."""
    if node_ids is None:
        return tuple(map(str, range(nodes)))
    if len(node_ids) != nodes:
        raise InputError(f"`node_ids` must name all {nodes} nodes; got {len(node_ids)} names.")
    ids = tuple(node_ids)
    _check_distinct("node_ids", ids)
    return ids


def distinct_names(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names, all text and all different."""
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"`{argument}` must be text; got {name!r}.")
    _check_distinct(argument, names)
    return tuple(map(str, names))


def _check_distinct(argument: str, names: Sequence[Hashable]) -> None:
    try:
        if len(set(names)) == len(names):
            return
    except TypeError as error:
        raise InputError(f"`{argument}` must be hashable: {error}.") from error
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise DataError(f"`{argument}` must differ; '{name}' is there twice.")
        seen.add(name)
