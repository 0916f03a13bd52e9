"""One step of Adam for the parameters of all replicas: interface and definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._backends import implementation


class _Backend(Protocol):
    def forward(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        first: Sequence[Tensor],
        second: Sequence[Tensor],
        step: Tensor,
        rates: Tensor,
        decays: Tensor,
    ) -> None: ...


@torch.no_grad()
def adam_step(
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    step: Tensor,
    rates: Tensor,
    decays: Tensor,
    *,
    backend: str = "auto",
) -> None:
    """Move `parameters`, each [R, ...], and their two moments in place, as torch's Adam does.

    The L2 term is coupled: the decay times the parameter is added to the gradient, so it is the
    gradient of decay / 2 |w|^2 in the objective.

    Args:
        parameters: contiguous tensors, all of one dtype.
        gradients: as many, of the same shapes.
        first: running means of the gradients, likewise.
        second: running means of their squares, likewise.
        step: [1], counts from 1.
        rates: the learning rate of each replica [R].
        decays: the weight decay of each parameter and replica [parameters, R].
        backend: "auto", "reference", "numba" or "triton".
    """
    slopes = [gradient.contiguous() for gradient in gradients]
    for tensor in (*parameters, *slopes, *first, *second, decays):
        # Compiled code is given bare addresses: nothing else would notice.
        if tensor.dtype != rates.dtype or not tensor.is_contiguous():
            raise InputError(f"parameters and moments must be contiguous {rates.dtype} tensors.")
    chosen: _Backend = implementation("adam", backend, rates.device.type)
    chosen.forward(parameters, slopes, first, second, step, rates, decays)


FIRST_DECAY = 0.9
SECOND_DECAY = 0.999
EPSILON = 1e-8


def forward(
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    step: Tensor,
    rates: Tensor,
    decays: Tensor,
) -> None:
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
