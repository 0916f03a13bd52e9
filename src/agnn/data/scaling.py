"""Feature matrices and their scaling: to rows of sum or length 1, standardised, or as given.

>>> from agnn.data import load_dataset
>>> from agnn.data.scaling import suited_scaling
>>> suited_scaling(load_dataset("cora"))  # a bag of words
'length'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from agnn.errors import unknown_name

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from agnn.data._node_data import NodeData

SparseRows: TypeAlias = "csr_array[np.float32, tuple[int, int]]"  # [n, d_x]
Scaling = Literal["sum", "length", "standard", "none"]
SCALINGS: Final[tuple[str, ...]] = get_args(Scaling)

DENSE: Final = 0.25  # share of stored entries from which features are a table, not a bag of words

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
    reference = data if fitted_on is None else fitted_on
    acting = effective_scaling(reference, scaling)
    return scale_rows(data.features, acting, lambda: reference.column_statistics)


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
    is_bag = not data.has_negative_features and not data.has_dense_features
    is_raw = data.preprocessing is None
    if is_bag and not (is_raw and _has_long_columns(x)):
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
    return "none" if scaling == "sum" and data.has_negative_features else scaling


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


def rows_summing_to_one(features: SparseRows) -> SparseRows:
    """Return D^-1 X with D the row sums of X; a row that sums to zero stays as it is."""
    return _over(features, features.sum(axis=1, dtype=np.float64))


def _rows_of_length_one(features: SparseRows) -> SparseRows:
    """Return each row over its Euclidean length; zero rows stay."""
    wide: Any = features.astype(np.float64)
    return _over(features, np.sqrt(wide.multiply(wide).sum(axis=1)))


def _over(features: SparseRows, sizes: NDArray[np.float64]) -> SparseRows:
    """Return each row over its size [n]; rows of size 0 stay."""
    scale = np.divide(1.0, sizes, out=np.ones_like(sizes), where=sizes != 0)
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
