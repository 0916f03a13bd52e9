"""The consistency loss on a GPU, with its gradient in the same pass."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._consistency import backward
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import power_of_two

__all__ = ["backward", "forward"]  # the first as it is defined

_NUMBERS = 512  # logits of one version that one program looks at


@triton.jit
def _predictions(logits, start, inside):
    """Softmax of the rows at `start`; zero outside."""
    x = tl.load(logits + start, mask=inside, other=float("-inf"))
    highest = tl.max(x, 1)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    e = tl.where(inside, tl.exp(x - highest[:, None]), 0.0)
    total = tl.sum(e, 1)
    return e / tl.where(total == 0.0, 1.0, total)[:, None]


@Program
def _nodes(
    logits, parts, slopes, nodes, blocks, power, confidence, share,
    S: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """B nodes of one replica: their part of the loss, and its gradient at their logits."""
    wait_for_inputs(EARLY)
    block, r = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    i, d = block * B + tl.arange(0, B), tl.arange(0, D)
    inside = (i < nodes)[:, None] & (d < WIDTH)[None, :]
    place = (r * S * nodes + i)[:, None] * WIDTH + d[None, :]
    step = nodes * WIDTH
    mean = _predictions(logits, place, inside)
    for s in tl.static_range(1, S):
        mean += _predictions(logits, place + s * step, inside)
    mean /= S
    largest = tl.max(mean, 1)
    counts = (largest >= confidence) & (i < nodes)
    ratio = mean / tl.where(largest == 0.0, 1.0, largest)[:, None]
    sharp = tl.where(ratio > 0.0, tl.exp(tl.log(tl.where(ratio > 0.0, ratio, 1.0)) * power), 0.0)
    total = tl.sum(sharp, 1)
    sharp /= tl.where(total == 0.0, 1.0, total)[:, None]
    loss = tl.zeros((B,), mean.dtype)
    for s in tl.static_range(S):
        p = _predictions(logits, place + s * step, inside)
        away = tl.where(counts[:, None], p - sharp, 0.0)
        loss += tl.sum(away * away, 1)
        inner = tl.sum(away * p, 1)
        slope = 2.0 * share * p * (away - inner[:, None])
        tl.store(slopes + place + s * step, slope, mask=inside)
    tl.store(parts + r * blocks + block, tl.sum(loss, 0) * share)


def forward(logits: Tensor, temperature: float, confidence: float) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, S, n, c]."""
    source = logits.detach().contiguous()
    replicas, versions, nodes, width = source.shape
    columns = power_of_two(width)
    height = max(1, _NUMBERS // columns)
    blocks = -(-nodes // height)
    slopes, parts = torch.empty_like(source), source.new_empty(replicas, blocks, 1)
    _nodes[(blocks, replicas)](
        source, parts, slopes, nodes, blocks, 1.0 / temperature, float(confidence),
        1.0 / (versions * nodes), versions, width, columns, height,
    )  # fmt: skip
    return summed(parts)[:, 0], slopes
