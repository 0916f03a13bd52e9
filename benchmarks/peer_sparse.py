"""The peer's model fed a sparse X: the ways that torch itself offers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor, nn

if TYPE_CHECKING:
    from agnn.data import NodeData

# (values [nnz], W [d_x, d]) -> X W [n, d], differentiable in W
Product = Callable[[Tensor, Tensor], Tensor]


def _coo(rows: Tensor, columns: Tensor, nodes: int, features: int) -> Product:
    indices = torch.stack([torch.repeat_interleave(rows.diff()), columns])

    def product(values: Tensor, W: Tensor) -> Tensor:
        x = torch.sparse_coo_tensor(indices, values, (nodes, features), is_coalesced=True)
        out: Tensor = torch.sparse.mm(x, W)
        return out

    return product


def _csr(rows: Tensor, columns: Tensor, nodes: int, features: int) -> Product:
    # 32-bit indices are the ones that MKL takes as they are.
    rows, columns = rows.to(torch.int32), columns.to(torch.int32)

    def product(values: Tensor, W: Tensor) -> Tensor:
        x = torch.sparse_csr_tensor(rows, columns, values, (nodes, features))
        out: Tensor = torch.sparse.mm(x, W)
        return out

    return product


def _embedding_bag(rows: Tensor, columns: Tensor, nodes: int, features: int) -> Product:  # noqa: ARG001 (one signature for all)
    def product(values: Tensor, W: Tensor) -> Tensor:
        return F.embedding_bag(
            columns, W, rows, mode="sum", per_sample_weights=values, include_last_offset=True
        )

    return product


FORMATS: dict[str, Callable[[Tensor, Tensor, int, int], Product]] = {
    "coo": _coo,
    "csr": _csr,
    "embedding_bag": _embedding_bag,
}


class SparseInput(nn.Module):
    """dropout(X) W + b, dropout on the stored values of X and no gradient to them."""

    def __init__(self, data: NodeData, form: str, width: int = 16) -> None:
        super().__init__()
        x = data.scaled_features("sum")
        self.values = torch.from_numpy(np.array(x.data))
        rows = torch.from_numpy(np.array(x.indptr, dtype=np.int64))
        columns = torch.from_numpy(np.array(x.indices, dtype=np.int64))
        self.product = FORMATS[form](rows, columns, data.nodes, data.feature_count)
        bound = 1 / math.sqrt(data.feature_count)  # as nn.Linear starts
        self.weight = nn.Parameter(torch.empty(data.feature_count, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(width))
        with warnings.catch_warnings():
            # torch says once a process that CSR is in beta and that it does not check indices.
            warnings.simplefilter("ignore", UserWarning)
            self.product(self.values, self.weight)

    def forward(self) -> Tensor:
        """States [n, d]."""
        values = F.dropout(self.values, training=self.training)
        return self.product(values, self.weight) + self.bias
