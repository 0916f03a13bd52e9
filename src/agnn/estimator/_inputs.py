"""The arguments of `fit` and `predict` as NodeData: arrays with edges, or indices in a graph."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data import NodeData, column_splits, encoded_labels
from agnn.errors import InputError


class ClassLabels(NamedTuple):
    """Labels as class numbers, and the values they stand for."""

    codes: NDArray[np.int64]  # [n], -1 for a missing label
    classes: NDArray[Any]  # [c] sorted, as the caller wrote them
    names: tuple[str, ...]  # [c] as text


def class_labels(y: Any) -> ClassLabels:
    """Return the labels [n] of scikit-learn's `y`; `agnn.data` says which count as missing."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import assert_all_finite, column_or_1d

    if type(getattr(y, "dtype", None)).__module__.partition(".")[0] == "pandas":
        y = np.asarray(y, dtype=object)  # or scikit-learn takes true and false for 1.0 and 0.0
    values = column_or_1d(y, warn=True)
    if values.dtype.kind == "f":
        assert_all_finite(values[~np.isnan(values)], input_name="y")
    encoded = encoded_labels(values, "`y`")
    labels = values[encoded.codes >= 0]
    classes = values[encoded.examples]
    if encoded.kind != "text":  # an array of objects where None or NaN is among them
        labels = np.array(labels.tolist())
        classes = np.array(classes.tolist())
    check_classification_targets(labels)
    return ClassLabels(encoded.codes, classes, encoded.class_names)


def graph_of_arrays(
    features: Any,
    edges: ArrayLike | None,
    labels: ClassLabels | None = None,
    *,
    edge_weight: ArrayLike | None = None,
) -> NodeData:
    """Return features [n, d_x] and edges [2, k] as data; without edges, a graph that has none.

    `edge_weight` [k] are the weights of the edges.
    """
    nodes = features.shape[0]
    if edges is None and edge_weight is not None:
        raise InputError("`edge_weight` needs `edges`, whose weights it holds.")
    return NodeData.build(
        name="arrays",
        features=features,
        labels=np.full(nodes, -1) if labels is None else labels.codes,
        edges=np.zeros((2, 0), dtype=np.int64) if edges is None else edges,
        class_names=() if labels is None else labels.names,
        edge_weights=edge_weight,
    )


def labelled_at(graph: NodeData, nodes: NDArray[np.int64], labels: ClassLabels) -> NodeData:
    """Return the graph with these labels at these nodes and no others, without its splits."""
    if nodes.size != labels.codes.size:
        raise InputError(f"`X` names {nodes.size} nodes, but `y` has {labels.codes.size} labels.")
    distinct, counts = np.unique(nodes, return_counts=True)
    if distinct.size < nodes.size:
        raise InputError(f"`X` names node {distinct[counts > 1][0]} more than once.")
    codes = np.full(graph.nodes, -1)
    codes[nodes] = labels.codes
    codes.setflags(write=False)
    return replace(graph, labels=codes, class_names=labels.names, splits={})


def positions(X: Any, graph: NodeData) -> NDArray[np.int64]:
    """Return node indices given as [k] or [k, 1]; raises for what is none."""
    nodes = np.asarray(X)
    nodes = nodes[:, 0] if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise InputError(
            f"with `graph` set, `X` holds node indices, whole numbers [k] or [k, 1]; got "
            f"{nodes.dtype} {list(nodes.shape)}."
        )
    outside = nodes[(nodes < 0) | (nodes >= graph.nodes)]
    if outside.size:
        raise InputError(f"`X` names node {outside[0]}; the graph has 0 to {graph.nodes - 1}.")
    return nodes.astype(np.int64)


def ids_in(X: Any) -> list[Hashable] | None:
    """Return the node ids, text or whole numbers, in `X` [k]; None for anything else."""
    if getattr(X, "ndim", 1) != 1:
        return None
    values = np.asarray(X)
    ids: list[Hashable] | None = values.tolist() if values.ndim == 1 else None
    return ids if values.dtype.kind in "iuUO" else None


def with_columns(
    data: NodeData,
    graph: NodeData | None,
    X: Any,
    *,
    times: ArrayLike | None,
    groups: ArrayLike | None,
) -> NodeData:
    """Return the data with splits by `times` or `groups`: a value per node, or per index in `X`.

    Splits that it came with are left out, so that these are the default.
    """
    if times is None and groups is None:
        return data
    values = np.asarray(groups if times is None else times)
    expected = data.nodes
    if graph is not None and not isinstance(X, NodeData):
        nodes = positions(X, graph)
        expected = nodes.size
        if values.shape == (expected,):
            by_node = np.empty(data.nodes, dtype=values.dtype)
            by_node[nodes] = values
            values = by_node
    if values.shape != (data.nodes,):
        name = "groups" if times is None else "times"
        raise InputError(f"`{name}` must have {expected} values; got {list(values.shape)}.")
    splits = column_splits(
        data.labelled,
        times=None if times is None else values,
        groups=None if groups is None else values,
    )
    return replace(data, splits={}).with_splits(splits)
