"""The loss on a GPU, with its gradient in the same pass."""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from agnn.kernels._cross_entropy import backward
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import power_of_two

__all__ = ["backward", "forward"]  # the first as it is defined

_NUMBERS = 1024  # logits that one program looks at


@Program
def _rows(
    logits, labels, weights, parts, slopes, k, blocks,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica: their part of the loss, and its gradient at their logits."""
    wait_for_inputs(EARLY)
    block, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    i, d = block * B + tl.arange(0, B), tl.arange(0, D)
    present = i < k
    inside = present[:, None] & (d < WIDTH)[None, :]
    place = (r * k + i)[:, None] * WIDTH + d[None, :]
    x = tl.load(logits + place, mask=inside, other=float("-inf"))
    label = tl.load(labels + r * k + i, mask=present, other=0)
    weight = tl.load(weights + r * k + i, mask=present, other=0.0)
    highest = tl.where(present, tl.max(x, 1), 0.0)
    e = tl.exp(x - highest[:, None])
    total = tl.where(present, tl.sum(e, 1), 1.0)
    is_label = d[None, :] == label[:, None]
    own = tl.sum(tl.where(is_label & inside, x, 0.0), 1)
    loss = weight * (tl.log(total) + highest - own)
    slope = (e / total[:, None] - tl.where(is_label, 1.0, 0.0)) * weight[:, None]
    tl.store(slopes + place, slope, mask=inside)
    tl.store(parts + r * blocks + block, tl.sum(loss, 0))


def forward(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, k, c]."""
    source = logits.detach().contiguous()
    replicas, k, width = source.shape
    columns = power_of_two(width)
    height = max(1, _NUMBERS // columns)
    blocks = -(-k // height)
    slopes, parts = torch.empty_like(source), source.new_empty(replicas, blocks, 1)
    _rows[(blocks, replicas)](
        source, labels.contiguous(), weights.contiguous(), parts, slopes, k, blocks, width,
        columns, height,
    )  # fmt: skip
    return summed(parts)[:, 0], slopes
