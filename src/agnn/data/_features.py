"""Feature matrices in the form that NodeData keeps, and features made of the graph alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.errors import DataError, InputError, unknown_name

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from agnn.data._node_data import NodeData

SparseRows: TypeAlias = "csr_array[np.float32, tuple[int, int]]"  # [n, d_x]
POSITIONS: Final = 64
_POSITION_STEPS: Final = 6
_POSITION_SEED: Final = 0


def checked_features(features: ArrayLike | Any) -> SparseRows:
    """Return the features [n, d_x] as a new matrix: sorted, no duplicates, no stored zeros.

    `features` is a dense array or any SciPy sparse matrix or array.
    """
    from scipy import sparse  # takes 0.2 s to import

    given: Any = features if sparse.issparse(features) else np.asarray(features)
    if given.ndim != 2:
        raise InputError(f"`features` must have shape [n, d_x]; got {list(given.shape)}.")
    if given.dtype.kind not in "biuf":
        raise InputError(f"`features` must hold real numbers; got {given.dtype}.")
    _check_structure(given)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf, and is refused below
        csr = sparse.csr_array(given, dtype=np.float32, copy=True)
        # SciPy keeps the index type it is given; equal data should have equal arrays.
        index = np.int32 if max(csr.nnz, *csr.shape) < 2**31 else np.int64
        parts = (csr.data, csr.indices.astype(index), csr.indptr.astype(index))
        matrix = sparse.csr_array(parts, shape=csr.shape)
        matrix.sum_duplicates()
    _check_finite(matrix)
    matrix.eliminate_zeros()
    return frozen_csr(matrix)


def rows_summing_to_one(features: SparseRows) -> SparseRows:
    """Return D^-1 X with D the row sums of X; a row that sums to zero stays as it is."""
    total = features.sum(axis=1, dtype=np.float64)  # [n]
    scale = np.divide(1.0, total, out=np.ones_like(total), where=total != 0)
    matrix = features.copy()
    matrix.data = (features.data * np.repeat(scale, np.diff(features.indptr))).astype(np.float32)
    return frozen_csr(matrix)


def frozen_csr(matrix: SparseRows) -> SparseRows:
    """Return the same matrix, whose arrays can no longer be written to."""
    # Reading the property stores it; SciPy would otherwise try to sort in place later.
    _ = matrix.has_canonical_format
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=False)
    return matrix


def structure_columns(edges: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
    """Return log(1 + x) of degree, mean degree of the neighbours and core number; [n, 3].

    `edges` [2, k] holds each undirected edge once.
    """
    from scipy import sparse

    i, j = np.concatenate([edges, edges[::-1]], axis=1)
    ones = np.ones(i.size, dtype=np.int8)
    adjacency = sparse.csr_array((ones, (i, j)), shape=(nodes, nodes))
    degree = np.diff(adjacency.indptr).astype(np.float64)
    total = np.bincount(i, weights=degree[j], minlength=nodes)
    mean = np.divide(total, degree, out=np.zeros(nodes), where=degree > 0)
    measures: NDArray[np.float64] = np.stack([degree, mean, core_numbers(adjacency)], axis=1)
    return np.log1p(measures)


def position_columns(edges: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
    """Return rows of length 1 in which nodes with the same surroundings are near; [n, 64].

    A random vector for each node, by its index, is multiplied six times by D^-1/2 (A + I) D^-1/2,
    where D holds the degrees plus 1: a random projection of the sixth power of that matrix.
    """
    from scipy import sparse

    x = np.random.default_rng(_POSITION_SEED).standard_normal((nodes, POSITIONS), dtype=np.float32)
    i, j = np.concatenate([edges, edges[::-1]], axis=1)
    scale = (1.0 / np.sqrt(np.bincount(i, minlength=nodes) + 1.0)).astype(np.float32)
    between = sparse.csr_array((scale[i] * scale[j], (i, j)), shape=(nodes, nodes))
    to_itself = (scale * scale)[:, None]
    for _ in range(_POSITION_STEPS):
        x = between @ x + to_itself * x
    positions: NDArray[np.float64] = x.astype(np.float64)
    positions /= np.maximum(np.sqrt((positions * positions).sum(axis=1, keepdims=True)), 1e-30)
    return positions


def core_numbers(adjacency: Any) -> NDArray[np.int64]:
    """Return the largest k such that a node is in a subgraph where all have k neighbours; [n].

    `adjacency` is a symmetric CSR without loops. Nodes with too few neighbours are removed, all
    at once; then those that this leaves with too few.
    """
    starts = adjacency.indptr.astype(np.int64)
    columns = adjacency.indices
    degree = np.diff(starts)
    core = np.zeros(degree.size, dtype=np.int64)
    left = np.ones(degree.size, dtype=bool)
    k = 0
    while left.any():
        k = max(k, int(degree[left].min()))
        peeled = np.flatnonzero(left & (degree <= k))
        while peeled.size:
            core[peeled] = k
            left[peeled] = False
            touched = _neighbours(starts, columns, peeled)
            touched = touched[left[touched]]
            near, lost = np.unique(touched, return_counts=True)
            degree[near] -= lost
            peeled = near[degree[near] <= k]
    return core


def _neighbours(
    starts: NDArray[np.int64], columns: NDArray[Any], nodes: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the columns of these rows, one row after the other."""
    lengths = starts[nodes + 1] - starts[nodes]
    ends = np.cumsum(lengths)
    shift = np.repeat(starts[nodes] - (ends - lengths), lengths)
    return columns[shift + np.arange(shift.size)]


def _check_structure(given: Any) -> None:
    if not hasattr(given, "check_format"):
        return
    # A hand-made CSR or CSC with an index out of range would crash SciPy's compiled loops.
    try:
        given.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"`features` is not a valid sparse matrix: {error}.") from error


def _check_finite(matrix: SparseRows) -> None:
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"`features` must be finite in float32; row {row}, column {matrix.indices[bad[0]]} "
            f"is {matrix.data[bad[0]]}."
        )


Scaling = Literal["sum", "length", "standard", "none"]
SCALINGS: Final[tuple[str, ...]] = get_args(Scaling)

_DENSE: Final = 0.25  # share of stored entries from which features are a table, not a bag of words

# Share of the squared length of rows from which columns of numbers hide the words beside them; in
# bags of words, frequent words have 0 to 0.28 of it.
_LONG: Final = 0.5
_MOST_ENTRIES: Final = 50_000_000  # of a matrix that may be made dense without being asked for


def check_scaling(scaling: str) -> None:
    """Raise unless `scaling` is the name of one."""
    if scaling not in SCALINGS:
        raise unknown_name("scaling", scaling, SCALINGS)


def scaled_features(
    data: NodeData, scaling: Scaling, fitted_on: NodeData | None = None
) -> SparseRows | NDArray[np.float32]:
    """Return the features of `data` as a network reads them; [n, d_x].

    "sum" makes every row sum to 1, as in the paper; features with negative numbers are then used
    as they are, since such sums mean nothing. "length" makes every row a vector of length 1.
    "standard" gives every column mean 0 and variance 1; its statistics are those of `fitted_on`,
    the data that the model was trained on, where `data` holds other nodes. "none" changes nothing.
    Rows of zeros stay zero under "sum" and "length", constant columns become zero under "standard".
    """
    known = data if fitted_on is None else fitted_on
    acting = effective_scaling(known, scaling)
    return scale_rows(data.features, acting, lambda: column_statistics(known.features))


def scale_rows(
    x: SparseRows | NDArray[np.float32],
    scaling: Scaling,
    statistics: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> SparseRows | NDArray[np.float32]:
    """Return rows of features under a scaling; `statistics` gives those of all rows' columns."""
    if scaling == "none":
        return x
    if scaling == "standard":
        means, scales = statistics()
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        standardised: NDArray[np.float32] = ((dense - means) * scales).astype(np.float32)
        return standardised
    if not isinstance(x, np.ndarray):
        return rows_summing_to_one(x) if scaling == "sum" else _rows_of_length_one(x)
    wide = x.astype(np.float64)
    sizes = wide.sum(1) if scaling == "sum" else np.sqrt((wide * wide).sum(1))
    scaled: NDArray[np.float32] = (wide / np.where(sizes == 0, 1.0, sizes)[:, None]).astype(x.dtype)
    return scaled


def suited_scaling(data: NodeData) -> Scaling:
    """Return the scaling for a graph that no setting was published for, by what its features are.

    Bags of words, or other sparse counts, are scaled to length 1. Tables of numbers are
    standardised, unless the reader has done so when it made the features from their columns; so
    are bags of words with columns of numbers beside them that make up most of a row's length.
    """
    x = data.features
    is_sparse = x.nnz < _DENSE * x.shape[0] * x.shape[1]
    is_raw = data.preprocessing is None
    if not _is_signed(x) and is_sparse and not (is_raw and _has_long_columns(x)):
        return "length"
    return "standard" if is_raw else "none"


def column_statistics(features: SparseRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each column's mean and the inverse of its deviation, 1 if it is constant; [d_x]."""
    wide: Any = features.astype(np.float64)
    sums = np.asarray(wide.sum(axis=0)).ravel()
    sums_of_squares = np.asarray(wide.multiply(wide).sum(axis=0)).ravel()
    return statistics_of_sums(sums, sums_of_squares, max(1, features.shape[0]))


def statistics_of_sums(
    sums: NDArray[np.float64], sums_of_squares: NDArray[np.float64], rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the statistics of columns whose entries have these sums; see `column_statistics`."""
    means = sums / rows
    squares = sums_of_squares / rows
    variances = np.maximum(squares - means**2, 0.0)
    # Below this, a variance is what rounding left of a constant column.
    is_constant = variances <= 1e-12 * np.maximum(squares, 1e-300)
    return means, 1.0 / np.sqrt(np.where(is_constant, 1.0, variances))


def effective_scaling(data: NodeData, scaling: Scaling) -> Scaling:
    """Return what a scaling does to features like those of `data`: "sum" leaves signed ones."""
    check_scaling(scaling)
    return "none" if scaling == "sum" and _is_signed(data.features) else scaling


def _is_signed(features: SparseRows) -> bool:
    return bool(features.nnz and features.data.min() < 0)


def _has_long_columns(features: SparseRows) -> bool:
    """Return whether columns of different numbers, few of them 0, make up most of the rows' length.

    Never for a matrix that would be too large with its zeros.
    """
    n, d = features.shape
    if not features.nnz or n * d > _MOST_ENTRIES:
        return False
    rows = _rows_of_length_one(features)
    shares = np.bincount(rows.indices, rows.data.astype(np.float64) ** 2, minlength=d)
    full = np.flatnonzero(np.bincount(rows.indices, minlength=d) > n / 2)
    values = (features.data[features.indices == column] for column in full)
    numbers = [
        column
        for column, column_values in zip(full, values, strict=True)
        if column_values.min() < column_values.max()
    ]
    return bool(shares[numbers].sum() > _LONG * shares.sum())


def _rows_of_length_one(features: SparseRows) -> SparseRows:
    """Return each row over its Euclidean length; zero rows stay."""
    wide: Any = features.astype(np.float64)
    length = np.sqrt(wide.multiply(wide).sum(axis=1))  # [n]
    scale = np.divide(1.0, length, out=np.ones_like(length), where=length != 0)
    matrix = features.copy()
    matrix.data = (features.data * np.repeat(scale, np.diff(features.indptr))).astype(np.float32)
    return frozen_csr(matrix)
