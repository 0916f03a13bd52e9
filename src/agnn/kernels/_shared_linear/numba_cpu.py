"""The linear map of shared dense features on the CPU: compiled dropout, torch's matrix product.

Replica by replica: the dropped features of all replicas at once would be the largest thing there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agnn.graph import DenseFeatures
from agnn.kernels._dropout import numba_cpu as dropout
from agnn.kernels._runtime.memory import new_tensor

if TYPE_CHECKING:
    from agnn.kernels._dropout import DropoutAt


def _features_after_dropout(
    x: DenseFeatures, like: Tensor, drop: DropoutAt | None, replica: int
) -> Tensor:
    """dropout(X) of one replica; [n, d_x]."""
    values = x.values.to(like.dtype)
    if drop is None:
        return values
    return dropout.forward(values[None], x.row_ids, drop.of_replica(replica))[0]


def forward(
    x: DenseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    replicas, _, d = weight.shape
    out = new_tensor(replicas, x.rows, d, dtype=weight.dtype)
    for r in range(replicas):
        torch.mm(_features_after_dropout(x, weight, drop, r), weight[r].detach(), out=out[r])
    return out if bias is None else out.add_(bias.detach()[:, None])


def backward(x: DenseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    slopes = [
        torch.mm(_features_after_dropout(x, gradient, drop, r).T, gradient[r])
        for r in range(gradient.shape[0])
    ]
    # One replica after the other here, too: torch sums a batch in another order than one alone.
    return torch.stack(slopes), torch.stack([of_replica.sum(0) for of_replica in gradient])
