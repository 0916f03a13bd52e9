"""The definition of the linear map of scaled and squashed features in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import FeatureMatrix


def forward(x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(X diag(scale)) W + b; [R, n, k]."""
    columns = x.columns.to(torch.int64)
    values = torch.tanh(x.values * scale[:, columns])  # [R, nnz]
    terms = values[..., None] * weight[:, columns]
    out = weight.new_zeros(weight.shape[0], x.rows, weight.shape[2])
    return out.index_add(1, x.row_of_entry, terms) + bias[:, None]


def backward(
    x: FeatureMatrix, scale: Tensor, weight: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at the scale [R, d_x], the weight [R, d_x, k] and the bias [R, k]."""
    columns = x.columns.to(torch.int64)
    values = torch.tanh(x.values * scale[:, columns])
    slopes = gradient[:, x.row_of_entry]  # [R, nnz, k]
    inner = (slopes * weight[:, columns]).sum(-1) * (1 - values.square()) * x.values
    dscale = torch.zeros_like(scale).index_add(1, columns, inner)
    dweight = torch.zeros_like(weight).index_add(1, columns, values[..., None] * slopes)
    return dscale, dweight, gradient.sum(1)
