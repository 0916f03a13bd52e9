"""Cheap baselines: the most frequent class, ridge regression, gradient boosted trees.

They train no network. A result that does not beat them has not learned from the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.graph import adjacency, normalise_rows
from agnn.methods._split_method import SplitMethod, one_hot
from agnn.metrics import MEASURES
from agnn.networks import register, require_features

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FEW_ROWS = 10_000
_LEAST_SHIFT = 1e-12  # of a matrix's trace: far above double precision, far below any penalty
_FEW_COLUMNS = 0.25  # share of stored entries from which features are a table of numbers


@register
@dataclass(frozen=True)
class Majority(SplitMethod):
    """Predict the most frequent class of the training nodes, whatever the node.

    The probabilities are the classes' shares among the training nodes.
    """

    name: ClassVar[str] = "majority"
    title: ClassVar[str] = "Most frequent class"
    cites: ClassVar[str] = ""

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Class probabilities [n, c], the same for every node."""
        shares = one_hot(data.labels[split.train], data.classes).mean(axis=0)
        return np.tile(shares, (data.nodes, 1))


def _view_of(view: str, A: Any, F: Any) -> Any:
    """F, A F, A^2 F or F - A F, by the name of the view."""
    if view == "X":
        return F
    mean = A @ F
    return {"AX": lambda: mean, "A2X": lambda: A @ mean, "X-AX": lambda: F - mean}[view]()


_VIEWS = ("X", "AX", "A2X", "X-AX")


@register
@dataclass(frozen=True)
class Ridge(SplitMethod):
    """Ridge regression of the labels on X, AX, A^2 X or (I - A) X, or on all four side by side.

        W = argmin over W of |M W - Y|^2 + `penalty` |W|^2,  solved in closed form

    M holds the training rows of a view of the features, A is the mean over a node's neighbours,
    Y the labels as one-hot rows. The view and the penalty are those with the most correct
    predictions (or the best metric) at the validation nodes; without validation nodes, all views
    at penalty 1. With `views=("X",)` the graph is not used.
    """

    name: ClassVar[str] = "ridge"
    title: ClassVar[str] = "Ridge regression"
    cites: ClassVar[str] = "Zhao, Zhou, Dai et al. 2025"
    uses_edge_weights: ClassVar[bool] = True

    penalties: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)  # to choose from
    views: tuple[str, ...] = _VIEWS  # of the features, to choose from

    def __post_init__(self) -> None:
        # A list is what a run folder gives back.
        object.__setattr__(self, "penalties", tuple(self.penalties))
        object.__setattr__(self, "views", tuple(self.views))
        if not self.views or not set(self.views) <= set(_VIEWS):
            raise InputError(f"`views` must be some of {', '.join(_VIEWS)}; got {self.views}.")
        if not self.penalties or min(self.penalties) <= 0.0:
            raise InputError(f"`penalties` must be above 0; got {self.penalties}.")

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Class probabilities [n, c]."""
        return self.scores_by(data, split, None)

    def scores_by(self, data: NodeData, split: Split, metric: str | None) -> NDArray[np.float64]:
        """Class probabilities [n, c]; the metric is the accuracy by default."""
        require_features(data, self.name)
        best = (-np.inf, 0.0)
        kept = None
        for fitted in self._candidates(data, split):
            if not split.validation.size:
                kept = fitted
                break
            known = data.labels[split.validation]
            found = fitted[split.validation]
            if metric is None:
                score = float(np.mean(found.argmax(axis=1) == known))
            else:
                score = MEASURES[metric].score(known, _shares(found))
            quality = (score, -float(np.square(found - one_hot(known, data.classes)).mean()))
            if quality > best:
                best = quality
                kept = fitted
        assert kept is not None  # noqa: S101 (there is always a first candidate)
        return _shares(kept)

    def _candidates(self, data: NodeData, split: Split) -> Iterator[NDArray[np.float64]]:
        """Fitted values [n, c] of every view and penalty; first all views at penalty 1."""
        from scipy import sparse

        X = _with_constant(scaled_columns_or_rows(data))
        A = normalise_rows(adjacency(data.edges, data.nodes, data.edge_weights))
        # Only the training rows of a view are ever formed: A^2 X of a whole graph can be dense.
        rows = {name: _training_rows(name, A, X, split.train) for name in self.views}
        Y = one_hot(data.labels[split.train], data.classes)
        order = sorted(self.penalties, key=lambda penalty: abs(np.log(penalty)))
        alone = ((name,) for name in self.views) if len(self.views) > 1 else ()
        products = cache(lambda name: (rows[name] @ rows[name].T).toarray())
        for names in (self.views, *alone):
            M = sparse.hstack([rows[name] for name in names], format="csr")
            # Of M M' and M' M the smaller; the first of several views is the sum of theirs.
            is_wide = M.shape[1] > M.shape[0]
            gram = sum(map(products, names)) if is_wide else (M.T @ M).toarray()
            right = Y if is_wide else M.T @ Y
            for penalty in order:
                inner = _solve_shifted(gram, penalty, right)
                W = np.split(np.asarray(M.T @ inner if is_wide else inner), len(names))
                fitted = [_view_of(n, A, X @ part) for n, part in zip(names, W, strict=True)]
                yield np.asarray(sum(fitted))


def _shares(fitted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fitted values [k, c] as probabilities: positive, rows that sum to 1."""
    share = np.clip(fitted, 1e-6, None)
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _training_rows(view: str, A: Any, X: Any, train: NDArray[np.int64]) -> Any:
    """The given rows of a view."""
    if view == "X":
        return X[train]
    one = A[train]
    if view == "A2X":
        return (one @ A) @ X
    return one @ X if view == "AX" else X[train] - one @ X


def _solve_shifted(
    gram: NDArray[np.float64], penalty: float, right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (gram + penalty I)^-1 right for a positive semi-definite matrix [m, m].

    A Cholesky factor per penalty takes a fraction of the time of one eigendecomposition for all.
    """
    from scipy import linalg

    shifted = gram.copy()
    # A smaller shift would be lost in the matrix's rounding errors, and the factor with it.
    shifted.flat[:: len(gram) + 1] += max(penalty, _LEAST_SHIFT * float(np.trace(gram)))
    factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


@register
@dataclass(frozen=True)
class Boosting(SplitMethod):
    """Gradient boosted trees on a node's own columns, the mean over its neighbours, and its degree.

    scikit-learn's HistGradientBoostingClassifier. If there are more than `components` columns,
    they are first projected on that number of singular vectors: trees split one column at a time,
    and thousands of sparse columns contain little information each.
    """

    name: ClassVar[str] = "boosting"
    title: ClassVar[str] = "Gradient boosting"
    cites: ClassVar[str] = "Bazhenov, Platonov and Prokhorenkova 2025"
    uses_edge_weights: ClassVar[bool] = True

    iterations: int = 200  # number of trees per class
    learning_rate: float = 0.1  # how much each tree counts
    leaf: int = 5  # fewest training nodes in a leaf
    components: int = 64  # principal components of wide features

    def __post_init__(self) -> None:
        for name in ("iterations", "leaf", "components"):
            if getattr(self, name) < 1:
                raise InputError(f"`{name}` must be at least 1; got {getattr(self, name)}.")

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Class probabilities [n, c]."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        labels = data.labels[split.train]
        present = np.unique(labels)
        found = np.zeros((data.nodes, data.classes))
        if present.size == 1:  # a single class needs no trees
            found[:, present] = 1.0
            return found
        columns = self._columns(data)
        model = HistGradientBoostingClassifier(
            max_iter=self.iterations,
            learning_rate=self.learning_rate,
            min_samples_leaf=self.leaf,
            early_stopping=False,
            random_state=0,
        )
        # On few rows its threads wait for each other longer than they work.
        with threadpool_limits(1 if labels.size < _FEW_ROWS else None, user_api="openmp"):
            model.fit(columns[split.train], labels)
            found[:, present] = model.predict_proba(columns)
        return found

    def _columns(self, data: NodeData) -> NDArray[np.float64]:
        """[n, 2 k + 1] own columns, their mean over the neighbours, the degree."""
        from sklearn.decomposition import TruncatedSVD

        matrix = adjacency(data.edges, data.nodes, data.edge_weights)
        degree: NDArray[np.float64] = np.asarray(matrix.sum(axis=1))
        own: Any = data.features
        if data.feature_count > self.components:
            most = min(self.components, data.nodes - 1)
            own = TruncatedSVD(most, random_state=0).fit_transform(scaled_columns_or_rows(data))
        elif data.feature_count:
            own = own.toarray().astype(np.float64)
        else:
            own = np.zeros((data.nodes, 0))
        return np.column_stack([own, normalise_rows(matrix) @ own, degree])


def scaled_columns_or_rows(data: NodeData) -> csr_array[Any, Any]:
    """Rows of length 1 for bags of words, standardised columns for a table of numbers; [n, d_x]."""
    from scipy import sparse
    from sklearn.preprocessing import normalize

    X = data.features.astype(np.float64)
    if X.nnz < _FEW_COLUMNS * data.nodes * data.feature_count:
        return sparse.csr_array(normalize(X))
    dense = X.toarray()
    spread = dense.std(axis=0)
    centred = dense - dense.mean(axis=0)
    return sparse.csr_array(centred / np.where(spread > 0.0, spread, 1.0))


def _with_constant(X: csr_array[Any, Any]) -> csr_array[Any, Any]:
    """X with a column of ones, whose weight is the intercept."""
    from scipy import sparse

    ones = sparse.csr_array(np.ones((X.shape[0], 1)))
    return sparse.csr_array(sparse.hstack([X, ones], format="csr"))
