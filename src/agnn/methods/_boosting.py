"""Gradient boosted trees on a node's own columns and those of its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.graph import SparseMatrix, adjacency, normalise_rows
from agnn.methods._split_method import SplitMethod, has_sparse_rows, scaled_columns_or_rows
from agnn.networks import Count, Positive, register

_FEW_ROWS = 10_000
_MOST_ENTRIES = 2**25  # of the training rows of all columns: 256 MiB, and minutes for the trees
_FEWEST_COMPONENTS = 64
_AT_ONCE = 2**23  # entries that are made dense for a prediction
_DAMPING = 0.85  # of PageRank
_STEPS = 100  # of PageRank: what is left of the start is below 1e-7


@register
@dataclass(frozen=True)
class Boosting(SplitMethod):
    """Gradient boosted trees on a node's columns, its neighbours' mean, its degree and PageRank.

    scikit-learn's HistGradientBoostingClassifier. For a table of numbers the columns include the
    minimum and maximum over the neighbours. Only if the columns of the training nodes do not fit
    into 256 MiB, the features are first projected on as many singular vectors as do. Columns are
    drawn with one seed for all, so that two runs are the same.
    """

    name: ClassVar[str] = "boosting"
    title: ClassVar[str] = "Gradient boosting"
    cites: ClassVar[str] = "Bazhenov, Platonov and Prokhorenkova 2025"
    uses_edge_weights: ClassVar[bool] = True

    iterations: Count = 200  # number of trees per class
    learning_rate: Positive = 0.1  # how much each tree counts
    leaf: Count = 5  # fewest training nodes in a leaf
    leaves: Annotated[int, "at least 2"] = 8  # most leaves of a tree
    # of the columns, drawn at random, that a branch chooses from
    column_share: Annotated[float, "above 0 and at most 1"] = 0.2
    components: Count | None = None  # singular vectors that replace the features; none: as they fit

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c]."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        labels = data.labels[split.train]
        columns = self._columns(data, split)
        rows = columns[split.train].toarray()
        used = _divisible(rows, self.leaf)
        if np.unique(labels).size == 1 or not used.size:  # nothing to distinguish
            shares = np.bincount(labels, minlength=data.classes) / labels.size
            return np.tile(shares, (data.nodes, 1))
        model = HistGradientBoostingClassifier(
            max_iter=self.iterations,
            learning_rate=self.learning_rate,
            min_samples_leaf=self.leaf,
            max_leaf_nodes=self.leaves,
            max_features=self.column_share,
            early_stopping=False,
            random_state=0,
        )
        probabilities = np.zeros((data.nodes, data.classes))
        at_once = max(_AT_ONCE // columns.shape[1], 1)
        # On few rows its threads wait for each other longer than they work.
        with threadpool_limits(1 if labels.size < _FEW_ROWS else None, user_api="openmp"):
            model.fit(rows[:, used], labels)
            for start in range(0, data.nodes, at_once):
                block = slice(start, start + at_once)
                dense = columns[block].toarray()[:, used]
                probabilities[block, model.classes_] = model.predict_proba(dense)
        return probabilities

    def _columns(self, data: NodeData, split: Split) -> SparseMatrix:
        """Return all columns of all nodes; [n, p]."""
        rows = split.train.size
        if self.components is None:
            columns = _with_neighbours(data, data.features.astype(np.float64))
            stored = np.bincount(columns[split.train].indices, minlength=columns.shape[1])
            if rows * np.count_nonzero(stored >= self.leaf) <= _MOST_ENTRIES:
                return columns
        fitting = max(_MOST_ENTRIES // (2 * rows), _FEWEST_COMPONENTS)
        return _with_neighbours(data, _projection(data, self.components or fitting))


def _with_neighbours(data: NodeData, node_columns: Any) -> SparseMatrix:
    """Return own columns [n, k] beside those of the neighbours, the degree and the PageRank."""
    from scipy import sparse

    matrix = adjacency(data.edges, data.nodes, data.edge_weights)
    walk = normalise_rows(matrix)
    position = np.column_stack([matrix.sum(axis=1), _pagerank(walk)])
    columns = [
        sparse.csr_array(node_columns),
        sparse.csr_array(walk @ node_columns),
        sparse.csr_array(position),
    ]
    # Of words the largest is hardly more than whether the mean is above zero.
    if not has_sparse_rows(data) and data.feature_count:
        dense = sparse.csr_array(node_columns).toarray()
        columns += [sparse.csr_array(_extreme(f, matrix, dense)) for f in (np.minimum, np.maximum)]
    return sparse.hstack(columns, format="csr")


def _projection(data: NodeData, components: int) -> NDArray[np.float64]:
    """Return the features projected on their first singular vectors; [n, components]."""
    from sklearn.decomposition import TruncatedSVD

    scaled = scaled_columns_or_rows(data)
    most = min(components, data.nodes - 1, data.feature_count)
    if most < 1:
        return np.zeros((data.nodes, 0))
    return np.asarray(TruncatedSVD(most, random_state=0).fit_transform(scaled))


def _extreme(
    function: np.ufunc, matrix: SparseMatrix, dense: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the minimum or maximum of each column over the neighbours, 0 without any; [n, k]."""
    extremes = np.zeros_like(dense)
    has_neighbours = np.diff(matrix.indptr) > 0
    starts = matrix.indptr[:-1][has_neighbours]
    if starts.size:
        for k in range(dense.shape[1]):
            extremes[has_neighbours, k] = function.reduceat(dense[matrix.indices, k], starts)
    return extremes


def _pagerank(walk: SparseMatrix) -> NDArray[np.float64]:
    """Return how often a walk is at each node that sometimes starts again anywhere; [n]."""
    back = walk.T.tocsr()
    ranks = np.full(walk.shape[0], 1.0 / walk.shape[0])
    start = (1.0 - _DAMPING) * ranks
    for _ in range(_STEPS):
        ranks = _DAMPING * (back @ ranks) + start
    return np.asarray(ranks)


def _divisible(rows: NDArray[np.float64], leaf: int) -> NDArray[np.int64]:
    """Return the columns in which some threshold leaves `leaf` rows on either side.

    No tree could use another one, so leaving them out costs nothing.
    """
    if len(rows) < 2 * leaf:
        return np.empty(0, dtype=np.int64)
    ordered = np.partition(rows, (leaf - 1, len(rows) - leaf), axis=0)
    return np.flatnonzero(ordered[leaf - 1] < ordered[len(rows) - leaf])
