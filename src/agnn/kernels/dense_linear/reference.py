"""The definition of the dense linear map in plain torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agnn.kernels.dropout.reference import factors

if TYPE_CHECKING:
    from agnn.kernels.dropout.stream import DropoutAt


def _factors(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """What each entry of `h` is multiplied by; [R, n, d]."""
    _, n, d = h.shape
    rows = row_ids[:, None].expand(n, d).reshape(-1)
    columns = torch.arange(d, device=h.device).repeat(n)
    return factors(drop, rows, columns, h.dtype).view(h.shape)


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    kept = h if drop is None else h * _factors(h, row_ids, drop)
    out = torch.bmm(kept, weight)
    return out if bias is None else out + bias[:, None]


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    dh = torch.bmm(gradient, weight.mT)
    if drop is None:
        return dh, torch.bmm(h.mT, gradient), gradient.sum(1)
    multiplied = _factors(h, row_ids, drop)
    return dh * multiplied, torch.bmm((h * multiplied).mT, gradient), gradient.sum(1)
