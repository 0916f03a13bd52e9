"""The first layer, dropout(X) W + b for dense X that all replicas share: definition."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import DenseFeatures
from agnn.kernels import _dropout as dropout
from agnn.kernels._dropout import DropoutAt


def _features_after_dropout(x: DenseFeatures, like: Tensor, drop: DropoutAt | None) -> Tensor:
    """dropout(X) of each replica; [R, n, d_x]."""
    values = x.values.to(like.dtype).expand(like.shape[0], -1, -1)
    return values if drop is None else dropout.forward(values, x.row_ids, drop)


def forward(
    x: DenseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    out = torch.bmm(_features_after_dropout(x, weight, drop), weight)
    return out if bias is None else out + bias[:, None]


def backward(x: DenseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    return torch.bmm(_features_after_dropout(x, gradient, drop).mT, gradient), gradient.sum(1)
