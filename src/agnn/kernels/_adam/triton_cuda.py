"""A step of Adam on a GPU: one pass over each parameter, several in a launch."""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._adam import EPSILON, FIRST_DECAY, SECOND_DECAY
from agnn.kernels._gpu.programs import Program, wait_for_inputs

_NUMBERS = 1024  # entries that one program moves
_TOGETHER = 8  # parameters that one launch moves


@triton.jit
def _entries(
    parameter, gradient, first, second, step, rates, decays,
    size, A: tl.constexpr, B: tl.constexpr, EPS: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """COUNT entries of one parameter of one replica."""
    r = tl.program_id(1).to(tl.int64)
    k = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    inside, place = k < size, r * size + k
    p = tl.load(parameter + place, mask=inside, other=0.0)
    g = tl.load(gradient + place, mask=inside, other=0.0)
    m = tl.load(first + place, mask=inside, other=0.0)
    v = tl.load(second + place, mask=inside, other=0.0)
    # 1 - a^t loses digits in float32 for small t.
    t = tl.load(step).to(tl.float64)
    correction = 1.0 - tl.exp(t * tl.log(tl.full((), A, tl.float64)))
    root = tl.sqrt(1.0 - tl.exp(t * tl.log(tl.full((), B, tl.float64))))
    rate = (tl.load(rates + r) / correction).to(p.dtype)
    slope = g + tl.load(decays + r) * p
    m = A * m + (1.0 - A) * slope
    v = B * v + (1.0 - B) * slope * slope
    tl.store(first + place, m, mask=inside)
    tl.store(second + place, v, mask=inside)
    p -= rate * m / (tl.sqrt(v) / root.to(p.dtype) + EPS)
    tl.store(parameter + place, p, mask=inside)


@Program
def _parameters(
    parameters, gradients, first, second, step, rates, decays, sizes,
    A: tl.constexpr, B: tl.constexpr, EPS: tl.constexpr, COUNT: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """COUNT entries of the parameter that the program is for, of one replica."""
    wait_for_inputs(EARLY)
    for k in tl.static_range(len(parameters)):
        if (tl.program_id(2) == k) & (tl.program_id(0) * COUNT < sizes[k]):
            _entries(
                parameters[k], gradients[k], first[k], second[k], step, rates, decays[k],
                sizes[k], A, B, EPS, COUNT,
            )  # fmt: skip


def forward(
    parameters: Sequence[Tensor], gradients: Sequence[Tensor], first: Sequence[Tensor],
    second: Sequence[Tensor], step: Tensor, rates: Tensor, decays: Tensor,
) -> None:  # fmt: skip
    """Move every parameter [R, ...] and its moments in place; `step` [1] counts from 1."""
    replicas = rates.numel()
    for start in range(0, len(parameters), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        moved = tuple(each.detach() for each in parameters[some])
        sizes = tuple(each.numel() // replicas for each in moved)
        _parameters[(-(-max(sizes) // _NUMBERS), replicas, len(sizes))](
            moved, tuple(gradients[some]), tuple(first[some]), tuple(second[some]), step, rates,
            tuple(decays[some].unbind()), sizes, FIRST_DECAY, SECOND_DECAY, EPSILON, _NUMBERS,
        )  # fmt: skip
