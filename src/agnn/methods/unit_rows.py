"""Feature rows of length one, as linear models with one penalty for all weights prefer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from agnn.data.features import SparseRows


def unit_rows(features: SparseRows) -> SparseRows:
    """X with every row divided by its Euclidean length; a zero row stays zero."""
    squares = np.asarray(features.multiply(features).sum(axis=1), dtype=np.float64)
    scale = np.power(squares, -0.5, out=np.zeros_like(squares), where=squares > 0)
    matrix = features.copy()
    matrix.data = (features.data * np.repeat(scale, np.diff(features.indptr))).astype(np.float32)
    return matrix
