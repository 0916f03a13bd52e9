"""A step of Adam on a GPU: one pass over each parameter, several in a launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._adam import EPSILON, FIRST_DECAY, SECOND_DECAY
from agnn.kernels._gpu.launches import Kernel, wait_for_inputs

_NUMBERS = 1024  # entries that one block moves
_TOGETHER = 8  # parameters that one launch moves


class _Moved(NamedTuple):
    """The parameters of a launch, each with what Adam keeps for it."""

    parameters: tuple[Tensor, ...]  # [R, ...] each
    gradients: tuple[Tensor, ...]
    first: tuple[Tensor, ...]
    second: tuple[Tensor, ...]
    decays: tuple[Tensor, ...]  # [R] each
    sizes: tuple[int, ...]  # of one replica


class _Rule(NamedTuple):
    A: float  # decay of the first moment
    B: float  # and of the second
    EPSILON: float


@triton.jit
def _move(x, which: tl.constexpr, step, rates, RULE: tl.constexpr, COUNT: tl.constexpr):
    """COUNT entries of one parameter of one replica."""
    A: tl.constexpr = RULE.A
    B: tl.constexpr = RULE.B
    r = tl.program_id(1).to(tl.int64)
    k = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    inside = k < x.sizes[which]
    place = r * x.sizes[which] + k
    p = tl.load(x.parameters[which] + place, mask=inside, other=0.0)
    g = tl.load(x.gradients[which] + place, mask=inside, other=0.0)
    m = tl.load(x.first[which] + place, mask=inside, other=0.0)
    v = tl.load(x.second[which] + place, mask=inside, other=0.0)
    # 1 - a^t loses digits in float32 for small t.
    t = tl.load(step).to(tl.float64)
    correction = 1.0 - tl.exp(t * tl.log(tl.full((), A, tl.float64)))
    root = tl.sqrt(1.0 - tl.exp(t * tl.log(tl.full((), B, tl.float64))))
    rate = (tl.load(rates + r) / correction).to(p.dtype)
    slope = g + tl.load(x.decays[which] + r) * p
    m = A * m + (1.0 - A) * slope
    v = B * v + (1.0 - B) * slope * slope
    tl.store(x.first[which] + place, m, mask=inside)
    tl.store(x.second[which] + place, v, mask=inside)
    p -= rate * m / (tl.sqrt(v) / root.to(p.dtype) + RULE.EPSILON)
    tl.store(x.parameters[which] + place, p, mask=inside)


@Kernel
def _move_all(x, step, rates, RULE: tl.constexpr, COUNT: tl.constexpr, EARLY: tl.constexpr):
    """COUNT entries of the parameter that the block is for, of one replica."""
    wait_for_inputs(EARLY)
    for k in tl.static_range(len(x.parameters)):
        if (tl.program_id(2) == k) & (tl.program_id(0) * COUNT < x.sizes[k]):
            _move(x, k, step, rates, RULE, COUNT)


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
    replicas = rates.numel()
    rule = _Rule(FIRST_DECAY, SECOND_DECAY, EPSILON)
    for start in range(0, len(parameters), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        moved = tuple(parameter.detach() for parameter in parameters[some])
        sizes = tuple(parameter.numel() // replicas for parameter in moved)
        x = _Moved(
            moved,
            tuple(gradients[some]),
            tuple(first[some]),
            tuple(second[some]),
            tuple(decays[some].unbind()),
            sizes,
        )
        grid = (-(-max(sizes) // _NUMBERS), replicas, len(sizes))
        _move_all[grid](x, step, rates, rule, _NUMBERS)
