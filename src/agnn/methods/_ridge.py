"""Ridge regression on views of the features: a baseline in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.graph import SparseMatrix, adjacency, normalise_rows
from agnn.methods._split_method import ChoosingMethod, Predictor, one_hot, scaled_columns_or_rows
from agnn.networks import register

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LEAST_SHIFT = 1e-12  # of a matrix's trace: far above double precision, far below any penalty
_BLOCK = 256  # columns of a product at a time: few enough for the memory of a large graph
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
        data.check_features(self.name)
        views = _Views(data, splits)
        order = sorted(self.penalties, key=lambda penalty: abs(np.log(penalty)))
        alone = ((name,) for name in self.views) if len(self.views) > 1 else ()
        for names in (self.views, *alone):
            problem = _Problem(views, names)
            # Where nothing chooses, the first penalty of the first views is the only one taken.
            for penalties in (order[:1], order[1:]):
                for weights in problem.weights(penalties):
                    yield [partial(views.fitted, names, W) for W in weights]

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
        trained = np.unique(np.concatenate([split.train for split in splits]))
        left_out = [np.setdiff1d(trained, split.train) for split in splits]
        self.groups = _disjoint(left_out)  # places of splits
        # Nodes that no split of the first group leaves out, then what each of them leaves out.
        blocks = [left_out[k] for k in self.groups[0]]
        unblocked = np.setdiff1d(trained, np.concatenate(blocks))
        self.trained = np.concatenate([unblocked, *blocks])  # [u]
        self.Y = one_hot(data.labels[self.trained], data.classes)  # [u, c]
        # Positions in `trained` of what each split leaves out.
        self.outside = [np.flatnonzero(np.isin(self.trained, nodes)) for nodes in left_out]
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
            rows = self.rows(view)
            product = np.empty((rows.shape[0], rows.shape[0]))
            for start in range(0, rows.shape[0], _BLOCK):
                columns = rows[start : start + _BLOCK].T.toarray()
                # A view of a whole graph has more entries than X and A, which are applied instead.
                is_dense = self.X.nnz < rows.nnz
                product[:, start : start + _BLOCK] = np.asarray(
                    _rows(view, self.A, self.X @ columns, self.trained)
                    if is_dense
                    else rows @ columns
                )
            self._products[view] = product
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

    An eigendecomposition would serve all penalties, and takes as long as twenty Cholesky factors.
    """

    views: _Views
    names: tuple[str, ...]

    def weights(self, penalties: Sequence[float]) -> Iterable[Sequence[NDArray[np.float64]]]:
        """Return W [p, c] of every split, for one penalty after the other."""
        # A smaller shift would be lost in the matrix's rounding errors, and the factor with it.
        least = _LEAST_SHIFT * float(np.trace(self.gram))
        shifts = [max(penalty, least) for penalty in penalties]
        if self.is_wide:
            return map(self._dual, shifts)
        return zip(*(self._primal(rows, shifts) for rows in self.views.outside), strict=True)

    @cached_property
    def matrix(self) -> SparseMatrix:
        """M, the views' columns side by side; [u, p]."""
        from scipy import sparse

        return sparse.hstack([self.views.rows(name) for name in self.names], format="csr")

    @cached_property
    def is_wide(self) -> bool:
        """Whether M M' of a split is smaller than M' M."""
        rows, columns = self.matrix.shape
        return bool(columns > rows - min(nodes.size for nodes in self.views.outside))

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """M M', the sum of the views' products, or M' M, whichever is smaller."""
        if self.is_wide:
            return np.asarray(sum(self.views.product(name) for name in self.names))
        return np.asarray((self.matrix.T @ self.matrix).toarray())

    def _primal(
        self, left_out: NDArray[np.int64], shifts: Sequence[float]
    ) -> list[NDArray[np.float64]]:
        """Return W = (M' M + shift I)^-1 M' Y without these rows, for every shift."""
        rest, labels = self.matrix[left_out], self.views.Y[left_out]
        gram = self.gram - (rest.T @ rest).toarray() if left_out.size else self.gram
        right = np.asarray(self.matrix.T @ self.views.Y - rest.T @ labels)
        return [_solve_without_each(gram, right, [0], shift)[0] for shift in shifts]

    def _dual(self, shift: float) -> list[NDArray[np.float64]]:
        """Return W = M' (M M' + shift I)^-1 Y of every split, from its rows."""
        weights = [np.empty(0)] * len(self.views.outside)
        for group in self.views.groups:
            blocks = [self.views.outside[k] for k in group]
            left_out = np.concatenate(blocks)
            order = np.concatenate([np.setdiff1d(np.arange(len(self.gram)), left_out), left_out])
            is_ordered = bool((order[1:] > order[:-1]).all())
            gram = self.gram if is_ordered else self.gram[np.ix_(order, order)]
            sizes = [rows.size for rows in blocks]
            solved = _solve_without_each(gram, self.views.Y[order], sizes, shift)
            columns = self.matrix[order].T
            for k, values in zip(group, solved, strict=True):
                weights[k] = np.asarray(columns @ values)
        return weights


def _disjoint(sets: Sequence[NDArray[np.int64]]) -> list[list[int]]:
    """Return the places of sets in groups whose members have no element in common."""
    groups: list[tuple[list[int], NDArray[np.int64]]] = []
    for position, elements in enumerate(sets):
        for number, (indices, union) in enumerate(groups):
            if elements.size and union.size and not np.isin(elements, union).any():
                groups[number] = ([*indices, position], np.concatenate([union, elements]))
                break
        else:
            groups.append(([position], elements))
    return [indices for indices, _ in groups]


def _solve_without_each(
    gram: NDArray[np.float64], right: NDArray[np.float64], sizes: Sequence[int], shift: float
) -> NDArray[np.float64]:
    """Return (gram + shift I)^-1 right without each of the last blocks of rows; [b, m, c].

    The blocks have these sizes, and stand behind rows that all solutions have. A solution has
    zeros in the block that it leaves out. One half of the blocks is eliminated for all solutions
    that leave out a block of the other half, and so on in that half: for ten blocks the work of
    2.2 Cholesky factors of the matrix, where a factor for each would be that of 7.3.
    """
    from scipy.linalg import cholesky, solve_triangular

    solve = partial(solve_triangular, lower=True, check_finite=False)
    solved = np.zeros((len(sizes), *right.shape))
    shared = len(gram) - sum(sizes)
    if shared:
        eliminations = [(slice(shared), slice(shared, None), slice(None))]
    elif len(sizes) > 1:
        half = len(sizes) // 2
        front, back = slice(sum(sizes[:half])), slice(sum(sizes[:half]), None)
        eliminations = [(front, back, slice(half, None)), (back, front, slice(half))]
    else:
        eliminations = []
    for gone, rest, members in eliminations:
        factor = np.array(gram[gone, gone].T, order="F")  # symmetric, in LAPACK's order
        factor.flat[:: len(factor) + 1] += shift
        factor = cholesky(factor, lower=True, overwrite_a=True, check_finite=False)
        values = solve(factor, right[gone])
        count = len(sizes[members])
        side_by_side = np.hstack([values] * count)
        if count > 1:
            across = solve(factor, np.array(gram[rest, gone].T, order="F"), overwrite_b=True)
            inner = gram[rest, rest] - across.T @ across
            inner_right = right[rest] - across.T @ values
            solved[members, rest] = _solve_without_each(inner, inner_right, sizes[members], shift)
            side_by_side -= across @ np.hstack(list(solved[members, rest]))
        solved[members, gone] = np.split(solve(factor, side_by_side, trans=1), count, axis=1)
    return solved


def _rows(view: str, A: Any, F: Any, nodes: NDArray[np.int64]) -> Any:
    """Return these rows of F, A F, A^2 F or F - A F, by the name of the view."""
    if view == "X":
        return F[nodes]
    near = A[nodes]
    if view == "A2X":
        middle = np.unique(near.indices)
        return near[:, middle] @ (A[middle] @ F)
    return near @ F if view == "AX" else F[nodes] - near @ F


def _with_constant(X: csr_array[Any, Any]) -> csr_array[Any, Any]:
    """Return X with a column of ones, whose weight is the intercept."""
    from scipy import sparse

    ones = sparse.csr_array(np.ones((X.shape[0], 1)))
    return sparse.csr_array(sparse.hstack([X, ones], format="csr"))
