"""The adjacency matrix as SciPy has it, for methods that solve or multiply on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    SparseMatrix: TypeAlias = csr_array[np.float64, tuple[int, int]]


def adjacency(
    edges: NDArray[np.int64], nodes: int, weights: NDArray[np.floating] | None = None
) -> SparseMatrix:
    """Return A [n, n] with ones at both directions of `edges` [2, k], each given once.

    With `weights` [k] it has these in place of the ones.
    """
    from scipy import sparse

    rows = np.concatenate([edges[0], edges[1]])
    columns = np.concatenate([edges[1], edges[0]])
    values = np.ones(rows.size) if weights is None else np.tile(weights.astype(np.float64), 2)
    return sparse.csr_array((values, (rows, columns)), shape=(nodes, nodes))


def normalise_rows(matrix: SparseMatrix) -> SparseMatrix:
    """Return D^-1 A with D the row sums; a row without entries stays empty."""
    return _scaled_rows(matrix, _power(matrix, -1.0))


def normalise_symmetrically(matrix: SparseMatrix) -> SparseMatrix:
    """Return D^-1/2 A D^-1/2 with D the row sums; a row without entries stays empty."""
    root = _power(matrix, -0.5)
    scaled = _scaled_rows(matrix, root)
    scaled.data *= root[scaled.indices]
    return scaled


def _power(matrix: SparseMatrix, exponent: float) -> NDArray[np.float64]:
    """Return the row sums to a negative power; 0 where a row has none."""
    degrees = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    return np.power(degrees, exponent, out=np.zeros_like(degrees), where=degrees > 0)


def _scaled_rows(matrix: SparseMatrix, scale: NDArray[np.float64]) -> SparseMatrix:
    scaled = matrix.copy()
    scaled.data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    return scaled
