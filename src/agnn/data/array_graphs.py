"""Graphs in arrays: SciPy and NumPy, and PyG's `Data` or whatever looks like one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data._node_data import NodeData
from agnn.data.array_graph import ArrayGraph
from agnn.data.array_labels import array_labels
from agnn.data.splits import Split
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MASKS: Final = ("train", "val", "test")
"""The parts that masks are called after."""


def from_scipy(
    adjacency: Any,
    features: ArrayLike | Any | None = None,
    labels: ArrayLike | None = None,
    *,
    name: str = "arrays",
    node_ids: Sequence[Hashable] | None = None,
    class_names: Sequence[str] | None = None,
    splits: Mapping[str, Split] | None = None,
    ignore_weights: bool = False,
) -> NodeData:
    """The graph in a SciPy sparse adjacency [n, n], features [n, d_x] and labels [n].

    Without features, degree and the like take their place. Labels are numbers or text; -1, NaN
    and "" are none. Features without negative values are made to sum to 1 by row when they are
    used; others are used as they are.
    """
    from scipy import sparse

    if not sparse.issparse(adjacency):
        kind = type(adjacency).__name__
        raise InputError(f"`adjacency` must be a SciPy sparse matrix; got {kind}.")
    links: Any = sparse.coo_array(adjacency)  # type: ignore[call-overload]
    if links.ndim != 2 or links.shape[0] != links.shape[1]:
        raise InputError(f"`adjacency` must be square; got {list(links.shape)}.")
    present = links.data != 0
    weights = {"`adjacency`": links.data[present]}
    graph = ArrayGraph(
        name=name,
        place="`adjacency`",
        entries=np.stack([links.row[present], links.col[present]]),
        nodes=links.shape[0],
        features=features,
        node_ids=node_ids,
        splits=splits,
        notes=checked_weights(weights, ignore_weights=ignore_weights),
    )
    return graph.node_data(labels, class_names)


def from_pyg(data: Any, *, name: str = "pyg", ignore_weights: bool = False) -> NodeData:
    """The graph in an object with `edge_index` and, where it has them, `x`, `y` and masks.

    `train_mask`, `val_mask` and `test_mask` become the split "fixed"; masks with k columns become
    the splits "own-1" to "own-k", which the split "own" goes through. PyG itself is not needed.
    """
    given = {
        part: _array(getattr(data, part))
        for part in ("edge_index", "x", "y", "edge_weight", "edge_attr")
        if getattr(data, part, None) is not None
    }
    if "edge_index" not in given:
        raise InputError(f"`data` must have `edge_index`; got {type(data).__name__}.")
    weights = {
        f"`data.{part}`": given[part] for part in ("edge_weight", "edge_attr") if part in given
    }
    labels = given.get("y")
    if labels is not None and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    graph = ArrayGraph(
        name=name,
        place="`data.edge_index`",
        entries=given["edge_index"],
        nodes=len(given["x"]) if "x" in given else int(data.num_nodes),
        features=given.get("x"),
        splits=mask_splits(
            {part: _masks_of(data, f"{part}_mask") for part in MASKS}, labels, "`data`"
        ),
        notes=checked_weights(weights, ignore_weights=ignore_weights),
    )
    return graph.node_data(labels, None)


def checked_weights(weights: Mapping[str, NDArray[Any]], *, ignore_weights: bool) -> list[str]:
    """Raise for values at the edges that differ, or say that they are ignored."""
    notes = []
    for place, values in weights.items():
        if values.size and (values != values.flat[0]).any():
            if not ignore_weights:
                raise DataError(
                    f"{place}: the edges have weights, and edges have none here. Make them all 1, "
                    f"or ignore them with --ignore-weights (ignore_weights=True)."
                )
            notes.append(f"{place}: the weights are ignored, as asked.")
    return notes


def mask_splits(
    masks: Mapping[str, NDArray[Any] | None], labels: NDArray[Any] | None, place: str
) -> dict[str, Split]:
    """The splits in masks [k, n] or [n] by part ("train", "val", "test").

    One mask is the split "fixed"; several are "own-1", "own-2", ... Nodes without a label are
    left out. No train mask, or none of the nodes in it: no splits.
    """
    if masks.get("train") is None or labels is None:
        return {}
    known = array_labels(labels, None).codes >= 0
    given = {
        part: _checked_mask(mask, known.size, f"{place}, `{part}` mask")
        for part, mask in masks.items()
        if mask is not None
    }
    count = given["train"].shape[0]
    splits = {}
    for k in range(count):
        parts = []
        for part in MASKS:
            mask = given.get(part, np.zeros((1, known.size), dtype=bool))
            if mask.shape[0] not in (1, count):
                raise DataError(
                    f"{place}: {count} masks for training and {mask.shape[0]} for `{part}`; there "
                    f"must be equally many."
                )
            parts.append(np.flatnonzero(mask[k % mask.shape[0]] & known))
        train, validation, test = parts
        name = "fixed" if count == 1 else f"own-{k + 1}"
        if train.size:
            splits[name] = Split(name, train, validation, test)
        elif count > 1:
            raise DataError(f"{place}: training mask {k + 1} names no labelled node.")
    return splits


def _checked_mask(mask: NDArray[Any], nodes: int, where: str) -> NDArray[np.bool_]:
    """The masks as [k, n] booleans; anything else is refused."""
    rows = mask[None] if mask.ndim == 1 else mask
    if rows.ndim != 2 or rows.shape[1] != nodes:
        raise DataError(
            f"{where} must have shape [{nodes}] or [k, {nodes}]; got {list(mask.shape)}."
        )
    if rows.dtype.kind not in "biu" or not np.isin(rows, (0, 1)).all():
        raise DataError(f"{where} must hold true and false.")
    return rows.astype(bool)


def _masks_of(data: Any, name: str) -> NDArray[Any] | None:
    """PyG keeps several masks as columns [n, k]."""
    mask = getattr(data, name, None)
    return None if mask is None else _array(mask).T


def _array(value: Any) -> NDArray[Any]:
    """A tensor, or anything like an array, as NumPy's."""
    return np.asarray(value.detach().cpu()) if hasattr(value, "detach") else np.asarray(value)
