"""The definition of a step of Adam in plain torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8


def forward(
    parameters: Sequence[Tensor], gradients: Sequence[Tensor], first: Sequence[Tensor],
    second: Sequence[Tensor], step: Tensor, rates: Tensor, decays: Tensor,
) -> None:  # fmt: skip
    """Move every parameter [R, ...] and its moments in place; `step` [1] counts from 1."""
    t = step.to(torch.float64)
    correction = (1.0 - FIRST_DECAY**t).to(rates.dtype)
    root = (1.0 - SECOND_DECAY**t).sqrt().to(rates.dtype)
    for k, (p, g, m, v) in enumerate(zip(parameters, gradients, first, second, strict=True)):
        by_replica = (-1, *[1] * (p.ndim - 1))
        slope = g + decays[k].view(by_replica) * p
        m.lerp_(slope, 1.0 - FIRST_DECAY)
        v.mul_(SECOND_DECAY).addcmul_(slope, slope, value=1.0 - SECOND_DECAY)
        p.sub_((rates / correction).view(by_replica) * m / (v.sqrt() / root + EPSILON))
