"""Dropout on a GPU: the hash of the reference, in 32-bit arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.tiles import power_of_two

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

_NUMBERS = 1024  # entries that one program drops


@triton.jit
def mixed(x):
    """The reference's hash of 32-bit words."""
    x = x ^ (x >> 16)
    x = x * 0x7FEB352D
    x = x ^ (x >> 15)
    x = x * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def epoch_state(keys, r, epoch):
    """What the epoch contributes to every row of replica r."""
    second = tl.load(keys + 2 * r + 1).to(tl.uint32)
    return mixed(tl.load(epoch).to(tl.uint32) ^ second)


@triton.jit
def factors(keys, thresholds, scales, r, state, row, column):
    """0 for a dropped entry, 1 / (1 - rate) for a kept one; `row` and `column` are its labels."""
    first = tl.load(keys + 2 * r).to(tl.uint32)
    row_state = mixed(row.to(tl.uint32) + state) ^ first
    word = mixed(row_state + column.to(tl.uint32) * 0x9E3779B9)
    kept = word >= tl.load(thresholds + r).to(tl.uint32)
    return tl.where(kept, tl.load(scales + r), 0.0)


@Program
def _apply(
    h, row_ids, keys, thresholds, scales, epoch, out, n,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    wait_for_inputs(EARLY)
    i, r = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    inside = (i < n)[:, None] & (d < WIDTH)[None, :]
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    x = tl.load(h + place, mask=inside, other=0.0)
    row = tl.load(row_ids + i, mask=i < n, other=0)
    state = epoch_state(keys, r, epoch)
    factor = factors(keys, thresholds, scales, r, state, row[:, None], d[None, :])
    tl.store(out + place, x * factor.to(x.dtype), mask=inside)


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    source = h.detach().contiguous()
    replicas, n, width = h.shape
    columns = power_of_two(width)
    height = max(1, _NUMBERS // columns)
    out = torch.empty_like(source)
    _apply[(-(-n // height), replicas)](
        source, row_ids, drop.keys, drop.thresholds, drop.scales, drop.epoch, out, n, width,
        columns, height,
    )  # fmt: skip
    return out


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
