"""The consistency loss on a GPU, with its gradient in the same pass."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._consistency import backward as backward
from agnn.kernels._gpu.launches import Kernel, states_of, sum_parts, wait_for_inputs

_NUMBERS = 512  # logits of one version that one block looks at


@triton.jit
def _predictions(logits, start, inside):
    """Softmax of the rows at `start`; zero outside."""
    x = tl.load(logits + start, mask=inside, other=float("-inf"))
    highest = tl.max(x, 1)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    e = tl.where(inside, tl.exp(x - highest[:, None]), 0.0)
    total = tl.sum(e, 1)
    return e / tl.where(total == 0.0, 1.0, total)[:, None]


class _Versions(NamedTuple):
    """The operands."""

    logits: Tensor  # [R, S, n, c]
    slopes: Tensor  # [R, S, n, c]: where the gradient goes
    nodes: int
    power: float  # 1 / temperature
    confidence: float
    share: float  # of one distance in the mean


@Kernel
def _losses(x, parts, SHAPE: tl.constexpr, S: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """B nodes of one replica: their part of the loss, and its gradient at their logits."""
    wait_for_inputs(EARLY)
    logits = x.logits
    block = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1).to(tl.int64)
    i = block * B + tl.arange(0, B)
    d = tl.arange(0, SHAPE.D)
    inside = (i < x.nodes)[:, None] & (d < SHAPE.WIDTH)[None, :]
    place = (r * S * x.nodes + i)[:, None] * SHAPE.WIDTH + d[None, :]
    step = x.nodes * SHAPE.WIDTH
    mean = _predictions(logits, place, inside)
    for s in tl.static_range(1, S):
        mean += _predictions(logits, place + s * step, inside)
    mean /= S
    largest = tl.max(mean, 1)
    counts = (largest >= x.confidence) & (i < x.nodes)
    ratio = mean / tl.where(largest == 0.0, 1.0, largest)[:, None]
    sharp = tl.where(ratio > 0.0, tl.exp(tl.log(tl.where(ratio > 0.0, ratio, 1.0)) * x.power), 0.0)
    total = tl.sum(sharp, 1)
    sharp /= tl.where(total == 0.0, 1.0, total)[:, None]
    loss = tl.zeros((B,), mean.dtype)
    for s in tl.static_range(S):
        p = _predictions(logits, place + s * step, inside)
        away = tl.where(counts[:, None], p - sharp, 0.0)
        loss += tl.sum(away * away, 1)
        inner = tl.sum(away * p, 1)
        slope = 2.0 * x.share * p * (away - inner[:, None])
        tl.store(x.slopes + place + s * step, slope, mask=inside)
    tl.store(parts + r * tl.num_programs(0) + block, tl.sum(loss, 0) * x.share)


def forward(logits: Tensor, temperature: float, confidence: float) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, S, n, c]."""
    source = logits.detach().contiguous()
    replicas, versions, nodes, width = source.shape
    shape = states_of(width)
    height = max(1, _NUMBERS // shape.D)
    blocks = -(-nodes // height)
    parts = source.new_empty(replicas, blocks, 1)
    slopes = torch.empty_like(source)
    share = 1.0 / (versions * nodes)
    x = _Versions(source, slopes, nodes, 1.0 / temperature, float(confidence), share)
    _losses[(blocks, replicas)](x, parts, shape, versions, height)
    return sum_parts(parts)[:, 0], slopes
