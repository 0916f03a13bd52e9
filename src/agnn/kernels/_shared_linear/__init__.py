"""The first layer, dropout(X) W + b for dense X: interface and definition."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import DenseFeatures
from agnn.kernels import _dropout as dropout
from agnn.kernels._chain import run_chain
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._links import FirstLayerLink


class SharedLinearLink(FirstLayerLink):
    """`shared_linear` as the start of a chain."""

    operation = "shared_linear"


def shared_linear(
    x: DenseFeatures,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(X) W + b for dense features that all replicas share, Eq. (4) before its ReLU.

    Args:
        x: features [n, d_x]; a shorter type than the weight's is widened on the way.
        weight: W [R, d_x, d].
        bias: b [R, d], or None.
        drop: the dropout of this place, or None for none.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        States [R, n, d] of the weight's type, differentiable in `weight` and `bias`.
    """
    return run_chain([SharedLinearLink(x, weight, bias, drop, backend)], x.values)


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
