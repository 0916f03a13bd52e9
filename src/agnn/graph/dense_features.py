"""Dense node features as the kernels read them, and the choice between dense and sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from agnn.graph.features import FeatureMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array, csr_matrix

_DENSE = 0.25  # share of stored entries from which a dense matrix is smaller and faster


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """X [n, d_x] with every entry stored, shared by all replicas.

    The values may be of a shorter type than the model's weights, which are what is computed in.
    """

    values: Tensor  # [n, d_x]
    row_ids: Tensor  # [n] int64, the rows' labels in the whole graph

    @property
    def rows(self) -> int:
        """The number of rows held."""
        return self.values.shape[0]

    @property
    def width(self) -> int:
        """d_x, the number of features."""
        return self.values.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """The type that is computed in."""
        return torch.float64 if self.values.dtype == torch.float64 else torch.float32

    def select(self, rows: Tensor) -> DenseFeatures:
        """The given rows, in the given order."""
        return DenseFeatures(self.values[rows], self.row_ids[rows])

    def sparse(self) -> FeatureMatrix:
        """The same features with every entry listed."""
        rows, width = self.values.shape
        device = self.values.device
        return FeatureMatrix(
            offsets=torch.arange(rows + 1, device=device) * width,
            columns=torch.arange(width, dtype=torch.int32, device=device).repeat(rows),
            values=self.values.to(self.dtype).reshape(-1),
            row_ids=self.row_ids,
            width=width,
        )

    def to(self, device: torch.device | str) -> DenseFeatures:
        """The same features on `device`; itself if they are there already."""
        target = torch.device(device)
        if target == self.values.device:
            return self
        return DenseFeatures(self.values.to(target), self.row_ids.to(target))


Features = FeatureMatrix | DenseFeatures


def features_of(
    matrix: csr_array[Any, Any] | csr_matrix[Any] | NDArray[Any],
    dtype: torch.dtype = torch.float32,
) -> Features:
    """The features of all nodes, dense where many entries are stored and sparse where few are."""
    rows, columns = matrix.shape
    if isinstance(matrix, np.ndarray):
        return DenseFeatures(torch.from_numpy(matrix).to(dtype), torch.arange(rows))
    if matrix.nnz < _DENSE * rows * columns:
        return FeatureMatrix.from_scipy(matrix, dtype)
    return DenseFeatures(torch.from_numpy(matrix.toarray()).to(dtype), torch.arange(rows))
