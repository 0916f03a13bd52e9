"""The first layer, dropout(X) W + b for sparse X: definition."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import SparseFeatures
from agnn.kernels._dropout import DropoutAt, factors


def _entries(x: SparseFeatures, replicas: int, drop: DropoutAt | None) -> Tensor:
    """The stored values of dropout(X); [R, nnz]."""
    if drop is None:
        return x.values.expand(replicas, -1)
    rows = x.row_ids[x.row_of_entry]
    return x.values * factors(drop, rows, x.columns.to(torch.int64), x.values.dtype)


def forward(
    x: SparseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    replicas, _, d = weight.shape
    terms = _entries(x, replicas, drop)[..., None] * weight[:, x.columns.to(torch.int64)]
    out = weight.new_zeros(replicas, x.rows, d).index_add(1, x.row_of_entry, terms)
    return out if bias is None else out + bias[:, None]


def backward(x: SparseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    replicas, _, d = gradient.shape
    terms = _entries(x, replicas, drop)[..., None] * gradient[:, x.row_of_entry]
    dweight = gradient.new_zeros(replicas, x.width, d)
    dweight = dweight.index_add(1, x.columns.to(torch.int64), terms)
    return dweight, gradient.sum(1)
