"""The same data with a few edges, features or labels changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.data._edges import merged_edges, simple_edges
from agnn.data._node_data import NodeData
from agnn.data.preprocessing import Source
from agnn.data.scaling import SparseRows, frozen_csr
from agnn.errors import InputError

Pairs = Iterable[tuple[int, int]]


def changed_data(
    data: NodeData,
    *,
    added: Pairs = (),
    removed: Pairs = (),
    dropped: Pairs = (),
    weight: float = 1.0,
) -> NodeData:
    """Return the data with edges added or removed, and with features dropped.

    `added` and `removed` are undirected edges as pairs of node indices. Where edges have weights,
    the new ones have `weight`. `dropped` are pairs of a node and a feature, whose value becomes 0.
    Features that are measures of the graph alone are measured again.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> changed_data(cora, added=[(0, 1)]).edges.shape[1] - cora.edges.shape[1]
    1
    """
    gone = _edges("removed", removed, data.nodes)
    new = _edges("added", added, data.nodes)
    for pairs, is_expected, objection in (
        (gone, True, "which the graph does not have"),
        (new, False, "which the graph has already"),
    ):
        wrong = pairs[:, _is_edge(data, pairs) != is_expected]
        if wrong.size:
            i, j = wrong[:, 0].tolist()
            raise InputError(f"the edge {i} - {j} is named, {objection}.")
    edges = data.edges
    weights = data.edge_weights
    if gone.size:
        is_kept = ~np.isin(_keys(edges, data.nodes), _keys(gone, data.nodes))
        edges = edges[:, is_kept]
        weights = None if weights is None else weights[is_kept]
    if new.size:
        new_weights = np.full(new.shape[1], weight, dtype=np.float32)
        edges, weights = merged_edges(edges, new, data.nodes, weights, new_weights)
    features = data.features
    preprocessing = data.preprocessing
    is_structural = preprocessing is not None and preprocessing.is_structural
    if (gone.size or new.size) and preprocessing is not None and is_structural:
        features = frozen_csr(preprocessing.features(Source(None, edges, data.nodes)))
    features = _without_entries(features, [(int(i), int(k)) for i, k in dropped])
    for array in (edges, weights):
        if array is not None:
            array.setflags(write=False)
    return replace(data, edges=edges, edge_weights=weights, features=features)


def with_labels(data: NodeData, labels: Mapping[int, int]) -> NodeData:
    """Return the data with other labels at some nodes: a class by node index."""
    changed = np.array(data.labels)
    for node, label in labels.items():
        if not 0 <= node < data.nodes:
            raise InputError(f"a label names node {node}; there are 0 to {data.nodes - 1}.")
        if not 0 <= label < data.classes:
            raise InputError(f"a label names class {label}; there are 0 to {data.classes - 1}.")
        changed[node] = label
    changed.setflags(write=False)
    return replace(data, labels=changed)


def without_nodes(data: NodeData, nodes: NDArray[np.int64]) -> tuple[NodeData, NDArray[np.int64]]:
    """Return the data without some nodes and their edges, and the indices of those that remain.

    Splits are left out. Features that are measures of the graph alone are measured again.
    """
    rest = np.setdiff1d(np.arange(data.nodes), nodes)
    new_index = np.full(data.nodes, -1)
    new_index[rest] = np.arange(rest.size)
    is_kept = (new_index[data.edges] >= 0).all(0)
    edges = new_index[data.edges[:, is_kept]]
    preprocessing = data.preprocessing
    features: Any = data.features[rest]
    if preprocessing is not None and preprocessing.is_structural:
        features = preprocessing.features(Source(None, edges, rest.size))
    weights = None if data.edge_weights is None else data.edge_weights[is_kept]
    smaller = replace(
        data,
        features=frozen_csr(features),
        labels=_frozen(data.labels[rest]),
        edges=_frozen(edges),
        node_ids=tuple(data.node_ids[node] for node in rest),
        splits={},
        edge_weights=None if weights is None else _frozen(weights),
        texts={kind: tuple(texts[node] for node in rest) for kind, texts in data.texts.items()},
    )
    return smaller, rest


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _edges(name: str, pairs: Pairs, nodes: int) -> NDArray[np.int64]:
    """Return the undirected edges, each once, first < second, sorted; [2, k]."""
    ends = np.array([(int(i), int(j)) for i, j in pairs], dtype=np.int64).reshape(-1, 2)
    outside = ends[(ends < 0) | (ends >= nodes)]
    if outside.size:
        raise InputError(f"`{name}` names node {outside[0]}; the graph has 0 to {nodes - 1}.")
    loops = ends[ends[:, 0] == ends[:, 1]]
    if loops.size:
        raise InputError(f"`{name}` joins node {loops[0, 0]} to itself; an edge joins two nodes.")
    return simple_edges(ends.T, nodes)[0]


def _keys(edges: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = edges[0] * nodes + edges[1]
    return keys


def _is_edge(data: NodeData, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each simple edge [2, k] is in the data; [k]."""
    keys = _keys(data.edges, data.nodes)
    pair_keys = _keys(pairs, data.nodes)
    if not keys.size:
        return np.zeros(pair_keys.size, dtype=bool)
    positions = np.searchsorted(keys, pair_keys).clip(max=keys.size - 1)
    is_edge: NDArray[np.bool_] = keys[positions] == pair_keys
    return is_edge


def _without_entries(features: SparseRows, entries: list[tuple[int, int]]) -> SparseRows:
    """Return the features with zeros at these places, which must hold something else."""
    if not entries:
        return features
    rows, columns = features.shape
    changed: Any = features.copy()
    for node, feature in entries:
        if not 0 <= node < rows or not 0 <= feature < columns:
            raise InputError(
                f"`dropped` names feature {feature} of node {node}; there are {columns} features "
                f"and {rows} nodes, both from 0."
            )
        row = slice(features.indptr[node], features.indptr[node + 1])
        entry = np.flatnonzero(features.indices[row] == feature)
        if not entry.size or not features.data[row][entry].any():
            raise InputError(f"node {node} has no feature {feature} to drop: it is 0.")
        changed.data[row.start + entry] = 0
    changed.eliminate_zeros()
    return frozen_csr(changed)
