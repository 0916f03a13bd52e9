"""The loss on a GPU, with its gradient in the same pass."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton.language as tl
from torch import Tensor

from agnn.kernels._cross_entropy import backward as backward
from agnn.kernels._gpu.launches import Kernel, states_of, sum_parts, wait_for_inputs

_NUMBERS = 1024  # logits that one block looks at


class _Rows(NamedTuple):
    """The operands."""

    logits: Tensor  # [R, k, c]
    labels: Tensor  # [R, k]
    weights: Tensor  # [R, k]
    slopes: Tensor  # [R, k, c]: where the gradient goes
    k: int


@Kernel
def _losses(rows, parts, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """B rows of one replica: their part of the loss, and its gradient at their logits."""
    wait_for_inputs(EARLY)
    block = tl.program_id(0)
    r = tl.program_id(1).to(tl.int64)
    i = block * B + tl.arange(0, B)
    d = tl.arange(0, SHAPE.D)
    present = i < rows.k
    inside = present[:, None] & (d < SHAPE.WIDTH)[None, :]
    place = (r * rows.k + i)[:, None] * SHAPE.WIDTH + d[None, :]
    x = tl.load(rows.logits + place, mask=inside, other=float("-inf"))
    label = tl.load(rows.labels + r * rows.k + i, mask=present, other=0)
    weight = tl.load(rows.weights + r * rows.k + i, mask=present, other=0.0)
    highest = tl.where(present, tl.max(x, 1), 0.0)
    e = tl.exp(x - highest[:, None])
    total = tl.where(present, tl.sum(e, 1), 1.0)
    is_label = d[None, :] == label[:, None]
    own = tl.sum(tl.where(is_label & inside, x, 0.0), 1)
    loss = weight * (tl.log(total) + highest - own)
    slope = (e / total[:, None] - tl.where(is_label, 1.0, 0.0)) * weight[:, None]
    tl.store(rows.slopes + place, slope, mask=inside)
    tl.store(parts + r * tl.num_programs(0) + block, tl.sum(loss, 0))


def forward(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, k, c]."""
    source = logits.detach().contiguous()
    replicas, k, width = source.shape
    shape = states_of(width)
    height = max(1, _NUMBERS // shape.D)
    blocks = -(-k // height)
    parts = source.new_empty(replicas, blocks, 1)
    rows = _Rows(source, labels.contiguous(), weights.contiguous(), torch.empty_like(source), k)
    _losses[(blocks, replicas)](rows, parts, shape, height)
    return sum_parts(parts)[:, 0], rows.slopes
