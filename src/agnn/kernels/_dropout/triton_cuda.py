"""Dropout on a GPU: the hash of the reference, in 32-bit arithmetic."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._dropout import DropoutAt
from agnn.kernels._gpu.launches import Kernel, power_of_two, wait_for_inputs

_NUMBERS = 1024  # entries that one block drops


class Draw(NamedTuple):
    """The operands of dropout; a kernel gets None in their place where nothing is dropped."""

    row_ids: Tensor  # [n], the rows' labels in the whole graph
    keys: Tensor  # [R, 2]
    thresholds: Tensor  # [R]
    scales: Tensor  # [R]
    epoch: Tensor  # [1]


class _Stream(NamedTuple):
    """The dropout of one replica in one epoch."""

    r: Any
    state: Any  # what the epoch contributes to every row


def draw_of(row_ids: Tensor, drop: DropoutAt | None) -> Draw | None:
    """Return the operands of a kernel that may drop entries."""
    if drop is None:
        return None
    return Draw(row_ids, drop.keys, drop.thresholds, drop.scales, drop.epoch)


@triton.jit
def mix(x):
    """The reference's hash of 32-bit words."""
    x = x ^ (x >> 16)
    x = x * 0x7FEB352D
    x = x ^ (x >> 15)
    x = x * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def stream_of(draw, r):
    """The dropout of replica r; `draw` may be None, and the result is then not used."""
    state = tl.zeros((), tl.uint32)
    if draw is not None:
        second = tl.load(draw.keys + 2 * r + 1).to(tl.uint32)
        state = mix(tl.load(draw.epoch).to(tl.uint32) ^ second)
    return _Stream(r, state)


@triton.jit
def factors(draw, stream, row, column):
    """0 for a dropped entry, 1 / (1 - rate) for a kept one; `row` and `column` are its labels."""
    first = tl.load(draw.keys + 2 * stream.r).to(tl.uint32)
    row_state = mix(row.to(tl.uint32) + stream.state) ^ first
    word = mix(row_state + column.to(tl.uint32) * 0x9E3779B9)
    kept = word >= tl.load(draw.thresholds + stream.r).to(tl.uint32)
    return tl.where(kept, tl.load(draw.scales + stream.r), 0.0)


@Kernel
def _apply(h, draw, out, n, WIDTH: tl.constexpr, TILE: tl.constexpr, EARLY: tl.constexpr):
    wait_for_inputs(EARLY)
    i = tl.program_id(0).to(tl.int64) * TILE[0] + tl.arange(0, TILE[0])
    r = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, TILE[1])
    inside = (i < n)[:, None] & (d < WIDTH)[None, :]
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    x = tl.load(h + place, mask=inside, other=0.0)
    row = tl.load(draw.row_ids + i, mask=i < n, other=0)
    factor = factors(draw, stream_of(draw, r), row[:, None], d[None, :])
    tl.store(out + place, x * factor.to(x.dtype), mask=inside)


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    source = h.detach().contiguous()
    replicas, n, width = h.shape
    columns = power_of_two(width)
    height = max(1, _NUMBERS // columns)
    out = torch.empty_like(source)
    draw = draw_of(row_ids, drop)
    _apply[(-(-n // height), replicas)](source, draw, out, n, width, (height, columns))
    return out


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
