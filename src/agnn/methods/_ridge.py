"""Ridge regression on views of the features: a baseline in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.graph import SparseMatrix, adjacency, normalise_rows
from agnn.methods._split_method import ChoosingMethod, Predictor, one_hot, scaled_columns_or_rows
from agnn.networks import register, require_features

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LEAST_SHIFT = 1e-12  # of a matrix's trace: far above double precision, far below any penalty
_BLOCK = 256  # rows and columns that fit into a processor's cache
_VIEWS = ("X", "AX", "A2X", "X-AX")


@register
@dataclass(frozen=True)
class Ridge(ChoosingMethod):
    """Ridge regression of the labels on X, AX, A^2 X or (I - A) X, or on all four side by side.

        W = argmin over W of |M W - Y|^2 + `penalty` |W|^2,  solved in closed form

    M holds the training rows of a view of the features, A is the mean over a node's neighbours,
    Y the labels as one-hot rows. The view and the penalty are those with the most correct
    predictions (or the best metric) at the validation nodes, or cross-fitted at the folds of the
    other replicas; without any such nodes, all views at penalty 1. With `views=("X",)` the graph
    is not used.
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
        super().__post_init__()
        if not self.views or not set(self.views) <= set(_VIEWS):
            raise InputError(f"`views` must be some of {', '.join(_VIEWS)}; got {self.views}.")
        if not self.penalties or min(self.penalties) <= 0.0:
            raise InputError(f"`penalties` must be above 0; got {self.penalties}.")

    def candidates(self, data: NodeData, splits: Sequence[Split]) -> Iterator[Sequence[Predictor]]:
        """Yield every view with every penalty; first all views at penalty 1."""
        require_features(data, self.name)
        views = _Views(data, splits)
        order = sorted(self.penalties, key=lambda penalty: abs(np.log(penalty)))
        alone = ((name,) for name in self.views) if len(self.views) > 1 else ()
        for names in (self.views, *alone):
            problem = _Problem(views, names)
            for penalty in order:
                yield [partial(views.fitted, names, W) for W in problem.weights(penalty)]

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return fitted values [k, c] as probabilities: positive, rows that sum to 1."""
        share = np.clip(values, 1e-6, None)
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def quality(
        self, values: NDArray[np.float64], labels: NDArray[np.int64], metric: str | None
    ) -> tuple[float, float]:
        """Return the metric, and of equal ones the lower squared error is better."""
        score, _ = super().quality(values, labels, metric)
        return score, -float(np.square(values - one_hot(labels, values.shape[1])).mean())


class _Views:
    """The views of all features, and the rows of the nodes that some split trains on."""

    def __init__(self, data: NodeData, splits: Sequence[Split]) -> None:
        self.X = _with_constant(scaled_columns_or_rows(data))
        self.A = normalise_rows(adjacency(data.edges, data.nodes, data.edge_weights))
        self.trained = np.unique(np.concatenate([split.train for split in splits]))  # [u]
        # Ascending positions in `trained`: of the training nodes of each split, and of the rest.
        self.inside = [np.flatnonzero(np.isin(self.trained, split.train)) for split in splits]
        self.outside = [np.setdiff1d(np.arange(self.trained.size), used) for used in self.inside]
        # The labels [u, c] of each split, with zeros for nodes that it does not train on.
        self.Y = [np.zeros((self.trained.size, data.classes)) for _ in splits]
        for Y, used in zip(self.Y, self.inside, strict=True):
            Y[used] = one_hot(data.labels[self.trained[used]], data.classes)
        self._rows: dict[str, SparseMatrix] = {}
        self._products: dict[str, NDArray[np.float64]] = {}

    def rows(self, view: str) -> SparseMatrix:
        """Return the rows of a view at `trained`; of a whole graph A^2 X can be dense."""
        if view not in self._rows:
            self._rows[view] = _rows(view, self.A, self.X, self.trained)
        return self._rows[view]

    def product(self, view: str) -> NDArray[np.float64]:
        """Return the inner products of all pairs of these rows; [u, u]."""
        if view not in self._products:
            self._products[view] = (self.rows(view) @ self.rows(view).T).toarray()
        return self._products[view]

    def fitted(
        self, names: Sequence[str], W: NDArray[np.float64], nodes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the values that weights W [columns, c] of these views give nodes [k]; [k, c]."""
        parts = np.split(W, len(names))
        values = [_rows(v, self.A, self.X @ w, nodes) for v, w in zip(names, parts, strict=True)]
        return np.asarray(sum(values))


@dataclass(frozen=True, eq=False)
class _Problem:
    """The regression on some views side by side, for all splits at once.

    Nothing of size m x m or p x p, for m rows and p columns, is computed once more for a further
    split or penalty, except the Cholesky factor. An eigendecomposition would serve all penalties,
    and takes as long as twenty factors.
    """

    views: _Views
    names: tuple[str, ...]

    def weights(self, penalty: float) -> Iterator[NDArray[np.float64]]:
        """Yield W [p, c] of every split."""
        if self.is_wide:
            solved = self._dual_from_inverse(penalty) if self.is_shared else self._dual(penalty)
            return (np.asarray(self.matrix.T @ values) for values in solved)
        return (self._primal(k, penalty) for k in range(len(self.views.Y)))

    @cached_property
    def matrix(self) -> SparseMatrix:
        """M, the views' columns side by side; [u, p]."""
        from scipy import sparse

        return sparse.hstack([self.views.rows(name) for name in self.names], format="csr")

    @cached_property
    def is_wide(self) -> bool:
        """Whether M M' of a split is smaller than M' M."""
        return bool(self.matrix.shape[1] > max(used.size for used in self.views.inside))

    @cached_property
    def is_shared(self) -> bool:
        """Whether one inverse for all splits takes fewer operations than a factor for each."""
        pairs = zip(self.views.inside, self.views.outside, strict=True)
        apart = sum(used.size**3 / 3 for used, _ in pairs)
        size = self.views.trained.size
        return size**3 + sum(2 * size * rest.size**2 for rest in self.views.outside) < apart

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """M M', the sum of the views' products, or M' M, whichever is smaller."""
        if self.is_wide:
            return np.asarray(sum(self.views.product(name) for name in self.names))
        return np.asarray((self.matrix.T @ self.matrix).toarray())

    def _primal(self, k: int, penalty: float) -> NDArray[np.float64]:
        """Return W = (M' M + penalty I)^-1 M' Y with the rows of split k alone."""
        rest = self.matrix[self.views.outside[k]]
        gram = self.gram - (rest.T @ rest).toarray() if rest.shape[0] else self.gram.copy()
        return _solve_shifted(gram, penalty, np.asarray(self.matrix.T @ self.views.Y[k]))

    def _dual(self, penalty: float) -> Iterator[NDArray[np.float64]]:
        """Yield (M M' + penalty I)^-1 Y of every split from its rows; [u, c], 0 elsewhere."""
        for used, Y in zip(self.views.inside, self.views.Y, strict=True):
            solved = np.zeros_like(Y)
            solved[used] = _solve_shifted(self.gram[np.ix_(used, used)], penalty, Y[used])
            yield solved

    def _dual_from_inverse(self, penalty: float) -> Iterator[NDArray[np.float64]]:
        """Yield the same from G = (M M' + penalty I)^-1 with the rows of all splits.

        For rows T of a split and others F, the inverse of the block of T is
        G_TT - G_TF G_FF^-1 G_FT.
        """
        inverse = _inverse_shifted(self.gram, penalty)
        for unused, Y in zip(self.views.outside, self.views.Y, strict=True):
            solved = inverse @ Y
            if unused.size:
                rows = inverse[unused]
                solved -= rows.T @ _solve_shifted(rows[:, unused], 0.0, solved[unused])
                solved[unused] = 0.0  # as they are but for rounding
            yield solved


def _rows(view: str, A: Any, F: Any, nodes: NDArray[np.int64]) -> Any:
    """Return these rows of F, A F, A^2 F or F - A F, by the name of the view."""
    if view == "X":
        return F[nodes]
    near = A[nodes]
    if view == "A2X":
        return (near @ A) @ F
    return near @ F if view == "AX" else F[nodes] - near @ F


def _shift(gram: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """Add penalty I to a positive semi-definite matrix [m, m], and return it in LAPACK's order."""
    # A smaller shift would be lost in the matrix's rounding errors, and the factor with it.
    gram.flat[:: len(gram) + 1] += max(penalty, _LEAST_SHIFT * float(np.trace(gram)))
    return gram.T  # the same matrix, column by column


def _solve_shifted(
    gram: NDArray[np.float64], penalty: float, right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (gram + penalty I)^-1 right for a matrix [m, m], which is overwritten."""
    from scipy import linalg

    factor = linalg.cho_factor(
        _shift(gram, penalty), lower=True, overwrite_a=True, check_finite=False
    )
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


def _inverse_shifted(gram: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """Return (gram + penalty I)^-1 for a positive semi-definite matrix [m, m]."""
    from scipy.linalg import lapack

    factor, _ = lapack.dpotrf(_shift(gram.copy(), penalty), lower=1, clean=1, overwrite_a=1)
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    # A block of columns at a time: the transpose of the whole would be read across its rows.
    for first in range(0, len(gram), _BLOCK):
        some = slice(first, first + _BLOCK)
        lower[some, first:] = lower[first:, some].T
        corner = np.tril(lower[some, some].T)
        lower[some, some] = corner + np.tril(corner, -1).T
    return np.asarray(lower.T)


def _with_constant(X: csr_array[Any, Any]) -> csr_array[Any, Any]:
    """Return X with a column of ones, whose weight is the intercept."""
    from scipy import sparse

    ones = sparse.csr_array(np.ones((X.shape[0], 1)))
    return sparse.csr_array(sparse.hstack([X, ones], format="csr"))
