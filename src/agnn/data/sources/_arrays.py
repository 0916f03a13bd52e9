"""Graphs in arrays: SciPy and NumPy, PyG's `Data` or what looks like it, and `.npz` files."""

from __future__ import annotations

import zipfile
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data._edges import edge_notes, mean_weights, simple_edges, unusable_weight, weight_note
from agnn.data._input_files import DAMAGE, check_file, check_fits
from agnn.data._labels import Labels, check_classes, checked_ids, class_notes, encoded_labels
from agnn.data._node_data import NodeData
from agnn.data._report import Reading
from agnn.data._splits._split import Split
from agnn.data.preprocessing import GRAPH_NOTE, Preprocessing, Source, graph_blocks
from agnn.errors import AgnnError, DataError, InputError

_MASKS: Final = ("train", "val", "test")  # what masks are called after
_CSR_PARTS: Final = ("data", "indices", "indptr", "shape")


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
    """Return the graph in a SciPy sparse adjacency [n, n], features [n, d_x] and labels [n].

    Values of the adjacency that differ are edge weights; (i, j) and (j, i) may have two, whose
    mean counts. An adjacency whose values are all the same has no weights. Without features, degree
    and the like take their place. Labels are numbers or text; -1, NaN, None, "" and the other ways
    to write a missing value are no label. Whole numbers with `class_names` are indices into them.

    >>> from scipy import sparse
    >>> ring = sparse.csr_array(([1, 1, 1], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> data = from_scipy(ring, labels=["no", "yes", None])
    >>> data.class_names, data.labels.tolist()
    (('no', 'yes'), [0, 1, -1])
    """
    from scipy import sparse

    if not sparse.issparse(adjacency):
        kind = type(adjacency).__name__
        raise InputError(f"`adjacency` must be a SciPy sparse matrix; got {kind}.")
    links: Any = sparse.coo_array(adjacency)  # type: ignore[call-overload]
    if links.ndim != 2 or links.shape[0] != links.shape[1]:
        raise InputError(f"`adjacency` must be square; got {list(links.shape)}.")
    present = links.data != 0
    weights = _differing(links.data[present])
    if weights is not None and not ignore_weights:
        links.sum_duplicates()  # that is what they mean in SciPy
        present = links.data != 0
        weights = links.data[present]
    return _node_data(
        np.stack([links.row[present], links.col[present]]),
        links.shape[0],
        name=name,
        place="`adjacency`",
        features=features,
        labels=_labels(labels, class_names, links.shape[0]),
        node_ids=node_ids,
        splits=splits,
        weights=weights,
        ignore_weights=ignore_weights,
    )


def from_pyg(
    data: Any, *, name: str = "pyg", edge_weight: str | None = None, ignore_weights: bool = False
) -> NodeData:
    """Return the graph in an object with `edge_index` and, where it has them, `x`, `y` and masks.

    `train_mask`, `val_mask` and `test_mask` become the split "fixed"; masks with k columns become
    the splits "own-1" to "own-k", which the split "own" uses in turn. PyG itself is not needed.
    The edge weights are in `edge_weight`, or in the attribute of that name that `edge_weight`
    gives, such as "edge_attr".
    """
    named = edge_weight or "edge_weight"
    attributes = {
        part: _array(getattr(data, part))
        for part in ("edge_index", "x", "y", "edge_attr", named)
        if getattr(data, part, None) is not None
    }
    if "edge_index" not in attributes:
        raise InputError(f"`data` must have `edge_index`; got {type(data).__name__}.")
    if edge_weight is not None and edge_weight not in attributes:
        raise InputError(f"`data` has no `{edge_weight}` to take edge weights from.")
    weights = attributes.get(named)
    if weights is None and _differing(attributes.get("edge_attr", np.empty(0))) is not None:
        if not ignore_weights:
            raise DataError(
                "`data.edge_attr` may hold weights. Use it with `edge_weight='edge_attr'`, or "
                "leave it out with `ignore_weights`."
            )
        weights = attributes["edge_attr"]
    if weights is not None and weights.ndim == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    raw = attributes.get("y")
    if raw is not None and raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    nodes = len(attributes["x"]) if "x" in attributes else int(data.num_nodes)
    labels = _labels(raw, None, nodes)
    masks = {part: getattr(data, f"{part}_mask", None) for part in _MASKS}
    # PyG keeps several masks as columns [n, k].
    rows = {part: None if mask is None else _array(mask).T for part, mask in masks.items()}
    return _node_data(
        attributes["edge_index"],
        nodes,
        name=name,
        place="`data.edge_index`",
        features=attributes.get("x"),
        labels=labels,
        splits=_mask_splits(rows, labels, "`data`"),
        weights=weights,
        ignore_weights=ignore_weights,
    )


def read_npz(path: Path, name: str, *, ignore_weights: bool = False) -> NodeData:
    """Return the graph in a file with adj_*, labels and, where there are any, attr_* arrays.

    Its own masks (`train_masks`, `val_masks`, `test_masks` [k, n], or `train_mask` and so on [n])
    become its splits. Nothing in it is unpickled. A file that would unpack to more than memory is
    not opened.
    """
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            check_fits(path, sum(member.file_size for member in archive.infolist()))
        with np.load(path, allow_pickle=False) as arrays:
            adjacency = _matrix(arrays, "adj")
            if adjacency is None:
                raise DataError(
                    f"'{path}' is not a graph file: it has no adj_data, only "
                    f"{', '.join(arrays.files)}."
                )
            attributes = _matrix(arrays, "attr")
            labels = arrays.get("labels")
            names = _class_names(arrays, labels)
            masks = {
                part: arrays.get(f"{part}_masks", arrays.get(f"{part}_mask")) for part in _MASKS
            }
        encoded = _labels(labels, names, adjacency.shape[0])
        return from_scipy(
            adjacency,
            attributes,
            labels,
            name=name,
            class_names=names,
            splits=_mask_splits(masks, encoded, f"'{path}'"),
            ignore_weights=ignore_weights,
        )
    except AgnnError as error:
        reason = str(error)
        raise DataError(reason if str(path) in reason else f"'{path}': {reason}") from error
    except DAMAGE as error:
        if "allow_pickle" in str(error):
            raise DataError(
                f"'{path}' holds pickled objects, which could run any code and are not opened; "
                f"save its arrays as numbers and text."
            ) from error
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise DataError(f"'{path}' is damaged or not an .npz of this kind: {reason}.") from error


def _node_data(
    entries: NDArray[Any],
    nodes: int,
    *,
    name: str,
    place: str,
    features: Any,
    labels: Labels,
    node_ids: Sequence[Hashable] | None = None,
    splits: Mapping[str, Split] | None = None,
    weights: NDArray[Any] | None = None,
    ignore_weights: bool = False,
) -> NodeData:
    """Return the checked data; degree and the like take the place of features that are None.

    `weights` [k] are those of the entries [2, k].
    """
    simple, facts = simple_edges(entries, nodes)
    ids = checked_ids(node_ids, nodes)
    pairs = np.asarray(entries, dtype=np.int64)
    notes = class_notes(labels.class_names, "`labels`")
    means = None
    if weights is not None and ignore_weights:
        notes.append(f"{place}: the weights are ignored, as requested.")
    elif weights is not None:
        _check_weights(weights, pairs, ids, place)
        means = mean_weights(simple, pairs, weights, nodes)
        notes += weight_note(pairs, weights, simple, means, ids, place)
    notes += edge_notes(
        pairs, np.arange(pairs.shape[1]), simple, facts, ids, place, is_weighted=means is not None
    )
    preprocessing = None
    if features is None:
        preprocessing = Preprocessing(tuple(graph_blocks(simple, nodes)))
        features = preprocessing.features(Source(None, simple, nodes))
        notes.append(GRAPH_NOTE)
    return NodeData.build(
        name=name,
        features=features,
        labels=labels.codes,
        edges=simple,
        class_names=labels.class_names,
        node_ids=ids,
        splits=splits,
        facts=facts,
        preprocessing=preprocessing,
        reading=Reading(
            place,
            notes=tuple(notes),
            unlabelled_as=labels.unlabelled_as or None,
            label_kind=labels.kind,
        ),
        edge_weights=means,
    )


def _labels(labels: ArrayLike | None, class_names: Sequence[str] | None, nodes: int) -> Labels:
    """Return the labels of n nodes; whole numbers with `class_names` are indices into them."""
    names = tuple(class_names or ())
    none = np.empty(0, dtype=np.int64)
    if labels is None:
        return Labels(np.full(nodes, -1), names, none, {})
    array = np.asarray(labels)
    if class_names is not None and array.dtype.kind in "iu":
        return Labels(array, names, none, {})
    encoded = encoded_labels(array, known=class_names)
    if class_names is None:
        check_classes(encoded, "`labels`", "give classes, not numbers to predict")
    return encoded


def _mask_splits(masks: Mapping[str, Any], labels: Labels, place: str) -> dict[str, Split]:
    """Return the splits in masks [k, n] or [n] by part ("train", "val", "test").

    One mask is the split "fixed"; several are "own-1", "own-2", ... Nodes without a label are
    left out. Without a training mask or without labels there are no splits.
    """
    is_labelled = labels.codes >= 0
    if masks.get("train") is None or not is_labelled.any():
        return {}
    checked_masks = {
        part: _checked_mask(mask, is_labelled.size, f"{place}, `{part}` mask")
        for part, mask in masks.items()
        if mask is not None
    }
    count = checked_masks["train"].shape[0]
    splits = {}
    for k in range(count):
        parts = []
        for part in _MASKS:
            mask = checked_masks.get(part, np.zeros((1, is_labelled.size), dtype=bool))
            if mask.shape[0] not in (1, count):
                raise DataError(
                    f"{place}: {count} masks for training and {mask.shape[0]} for `{part}`; there "
                    f"must be equally many."
                )
            parts.append(np.flatnonzero(mask[k % mask.shape[0]] & is_labelled))
        train, validation, test = parts
        name = "fixed" if count == 1 else f"own-{k + 1}"
        if train.size:
            splits[name] = Split(name, train, validation, test)
        elif count > 1:
            raise DataError(f"{place}: training mask {k + 1} names no labelled node.")
    return splits


def _checked_mask(mask: NDArray[Any], nodes: int, where: str) -> NDArray[np.bool_]:
    """Return the masks as [k, n] booleans; anything else is refused."""
    rows = mask[None] if mask.ndim == 1 else mask
    if rows.ndim != 2 or rows.shape[1] != nodes:
        raise DataError(
            f"{where} must have shape [{nodes}] or [k, {nodes}]; got {list(mask.shape)}."
        )
    if rows.dtype.kind not in "biu" or not np.isin(rows, (0, 1)).all():
        raise DataError(f"{where} must hold true and false.")
    return rows.astype(bool)


def _differing(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return the values at the edges if they differ; None if all are the same."""
    return values if values.size and (values != values.flat[0]).any() else None


def _check_weights(
    weights: NDArray[Any], entries: NDArray[np.int64], ids: Sequence[Hashable], place: str
) -> None:
    """Raise unless `weights` are one usable number per entry [2, k]."""
    if weights.shape != entries.shape[1:] or weights.dtype.kind not in "fiub":
        raise DataError(
            f"{place}: edge weights must be one number per edge, shape [{entries.shape[1]}]; got "
            f"{weights.dtype} {list(weights.shape)}."
        )
    unusable = unusable_weight(weights.astype(np.float64))
    if unusable is not None:
        i, j = entries[:, unusable.place].tolist()
        raise DataError(
            f"{place}, edge {ids[i]!r} to {ids[j]!r}: {unusable.reason} To leave weights out, give "
            f"`ignore_weights` (--ignore-weights)."
        )


def _matrix(arrays: Mapping[str, Any], prefix: str) -> Any:
    """Return the CSR or dense matrix whose parts start with `prefix`; None if there is none."""
    from scipy import sparse

    if f"{prefix}_matrix" in arrays:
        dense = arrays[f"{prefix}_matrix"]
        return sparse.csr_array(dense) if prefix == "adj" else dense
    if f"{prefix}_data" not in arrays:
        return None
    data, indices, indptr, shape = (arrays[f"{prefix}_{part}"] for part in _CSR_PARTS)
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    matrix.check_format(full_check=True)
    return matrix


def _class_names(arrays: Mapping[str, Any], labels: Any) -> list[str] | None:
    """Return the class names, if the file has plain text for each class."""
    if labels is None or "class_names" not in arrays or labels.dtype.kind not in "iu":
        return None
    try:
        names = arrays["class_names"]
    except ValueError:  # pickled text, as in older files; numbers will do
        return None
    fits = names.dtype.kind == "U" and names.ndim == 1 and names.size > labels.max(initial=-1)
    return names.tolist() if fits else None


def _array(value: Any) -> NDArray[Any]:
    """Return a tensor, or anything like an array, as a NumPy array."""
    return np.asarray(value.detach().cpu()) if hasattr(value, "detach") else np.asarray(value)
