"""Feature matrices in the form that NodeData keeps, and features made of the graph alone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data.scaling import SparseRows, frozen_csr
from agnn.errors import DataError, InputError

POSITIONS: Final = 64
_POSITION_STEPS: Final = 6
_POSITION_SEED: Final = 0


def checked_features(features: ArrayLike | Any) -> SparseRows:
    """Return the features [n, d_x] as a new matrix: sorted, no duplicates, no stored zeros.

    `features` is a dense array or any SciPy sparse matrix or array.
    """
    from scipy import sparse  # takes 0.2 s to import

    raw: Any = features if sparse.issparse(features) else np.asarray(features)
    if raw.ndim != 2:
        raise InputError(f"`features` must have shape [n, d_x]; got {list(raw.shape)}.")
    if raw.dtype.kind not in "biuf":
        raise InputError(f"`features` must hold real numbers; got {raw.dtype}.")
    _check_structure(raw)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf, and is refused below
        csr = sparse.csr_array(raw, dtype=np.float32, copy=True)
        # SciPy keeps the index type it is given; equal data should have equal arrays.
        index = np.int32 if max(csr.nnz, *csr.shape) < 2**31 else np.int64
        parts = (csr.data, csr.indices.astype(index), csr.indptr.astype(index))
        matrix = sparse.csr_array(parts, shape=csr.shape)
        matrix.sum_duplicates()
    _check_finite(matrix)
    matrix.eliminate_zeros()
    return frozen_csr(matrix)


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
    is_left = np.ones(degree.size, dtype=bool)
    k = 0
    while is_left.any():
        k = max(k, int(degree[is_left].min()))
        peeled = np.flatnonzero(is_left & (degree <= k))
        while peeled.size:
            core[peeled] = k
            is_left[peeled] = False
            touched = _neighbours(starts, columns, peeled)
            touched = touched[is_left[touched]]
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


def _check_structure(matrix: Any) -> None:
    if not hasattr(matrix, "check_format"):
        return
    # A hand-made CSR or CSC with an index out of range would crash SciPy's compiled loops.
    try:
        matrix.check_format(full_check=True)
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
