"""Dropout in compiled CPU code: the hash of the reference, in 32-bit arithmetic."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from agnn.kernels._cpu.simd import inline, jit
from agnn.kernels._cpu.threads import run_in_pieces
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._runtime.memory import new_tensor

U32 = np.uint32
# Keys, thresholds and scales where nothing is dropped: compiled code wants the arguments anyway.
KEEP_ALL = (np.zeros((1, 2), np.uint32), np.zeros(1, np.uint32), np.ones(1))


@inline
def mix(x: Any) -> Any:
    """The reference's hash of one 32-bit word."""
    # numba widens 32-bit products to 64 bits; casting back after each step lets LLVM use
    # 32-bit lanes throughout.
    x = U32(x ^ U32(x >> U32(16)))
    x = U32(x * U32(0x7FEB352D))
    x = U32(x ^ U32(x >> U32(15)))
    x = U32(x * U32(0x846CA68B))
    return U32(x ^ U32(x >> U32(16)))


@inline
def epoch_state(key: Any, epoch: Any) -> Any:
    """What the epoch contributes to every row of a replica."""
    return mix(U32(U32(epoch) ^ key[1]))


@inline
def row_state(key: Any, state: Any, row: Any) -> Any:
    """What the row contributes to each of its entries."""
    return U32(mix(U32(U32(row) + state)) ^ key[0])


@inline
def is_kept(state: Any, column: Any, threshold: Any) -> Any:
    """Whether the entry at `column` of a row with this state stays."""
    return mix(U32(state + U32(U32(column) * U32(0x9E3779B9)))) >= threshold


class Draw(NamedTuple):
    """The dropout of one replica in one epoch, inside compiled code."""

    is_on: Any  # whether anything is dropped
    key: Any
    state: Any  # what the epoch contributes to every row
    threshold: Any
    scale: Any  # of what is kept


@inline
def draw_of(drop: Any, r: Any, like: Any) -> Any:
    """The dropout of replica r, for an array `like`; `drop` is what `drop_operands` returns."""
    is_on, keys, thresholds, scales, epoch = drop
    place = r if is_on else 0
    key = keys[place]
    scale = like.dtype.type(scales[place])
    return Draw(is_on, key, epoch_state(key, epoch), thresholds[place], scale)


def drop_operands(drop: DropoutAt | None) -> tuple[Any, ...]:
    """Whether anything is dropped, keys, thresholds, scales and the epoch, for compiled code.

    A plain tuple: on every call from Python, numba takes 3 us longer for a named one.
    """
    return (False, *KEEP_ALL, 0) if drop is None else (True, *drop.arrays, int(drop.epoch))


@jit
def _apply(h: Any, row_ids: Any, drop: Any, out: Any, first: Any, last: Any) -> None:
    _, n, d = h.shape
    for r in range(first, last):
        draw = draw_of(drop, r, h)
        for i in range(n):
            row = row_state(draw.key, draw.state, row_ids[i])
            for k in range(d):
                kept = is_kept(row, k, draw.threshold)
                out[r, i, k] = h[r, i, k] * draw.scale if kept else h.dtype.type(0)


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    source = h.detach().contiguous()
    out = new_tensor(*source.shape, dtype=source.dtype)
    labels = row_ids.numpy().astype(np.uint32)
    arguments = (source.numpy(), labels, drop_operands(drop), out.numpy())
    run_in_pieces(_apply, arguments, h.shape[0], h.numel() // 16)
    return out


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
