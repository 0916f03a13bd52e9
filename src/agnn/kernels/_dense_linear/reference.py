"""The definition of the dense linear map in plain torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agnn.kernels._dropout import reference as dropout

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    kept = h if drop is None else dropout.forward(h, row_ids, drop)
    out = torch.bmm(kept, weight)
    return out if bias is None else out + bias[:, None]


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    dh, kept = torch.bmm(gradient, weight.mT), h
    if drop is not None:
        dh, kept = dropout.backward(dh, row_ids, drop), dropout.forward(h, row_ids, drop)
    return dh, torch.bmm(kept.mT, gradient), gradient.sum(1)
