"""Dropout in compiled CPU code: the hash of the reference, in 32-bit arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from agnn.kernels._cpu.simd import compiled, inlined
from agnn.kernels._cpu.threads import run_in_pieces
from agnn.kernels._runtime.memory import new_tensor

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

U32 = np.uint32
# Keys, thresholds and scales where nothing is dropped: compiled code wants the arguments anyway.
KEEP_ALL = (np.zeros((1, 2), np.uint32), np.zeros(1, np.uint32), np.ones(1))


@inlined
def mixed(x: Any) -> Any:
    """The reference's hash of one 32-bit word."""
    # numba widens 32-bit products to 64 bits; casting back after each step lets LLVM use
    # 32-bit lanes throughout.
    x = U32(x ^ U32(x >> U32(16)))
    x = U32(x * U32(0x7FEB352D))
    x = U32(x ^ U32(x >> U32(15)))
    x = U32(x * U32(0x846CA68B))
    return U32(x ^ U32(x >> U32(16)))


@inlined
def epoch_state(key: Any, epoch: Any) -> Any:
    """What the epoch contributes to every row of a replica."""
    return mixed(U32(U32(epoch) ^ key[1]))


@inlined
def row_state(key: Any, state: Any, row: Any) -> Any:
    """What the row contributes to each of its entries."""
    return U32(mixed(U32(U32(row) + state)) ^ key[0])


@inlined
def is_kept(state: Any, column: Any, threshold: Any) -> Any:
    """Whether the entry at `column` of a row with this state stays."""
    return mixed(U32(state + U32(U32(column) * U32(0x9E3779B9)))) >= threshold


@compiled
def _apply(
    h: Any, row_ids: Any, keys: Any, thresholds: Any, scales: Any, epoch: Any,
    out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    _, n, d = h.shape
    for r in range(first, last):
        scale = h.dtype.type(scales[r])
        state = epoch_state(keys[r], epoch)
        for i in range(n):
            row = row_state(keys[r], state, row_ids[i])
            for k in range(d):
                kept = is_kept(row, k, thresholds[r])
                out[r, i, k] = h[r, i, k] * scale if kept else h.dtype.type(0)


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    source = h.detach().contiguous()
    out = new_tensor(*source.shape, dtype=source.dtype)
    ids, epoch = row_ids.numpy().astype(np.uint32), int(drop.epoch)
    arguments = (source.numpy(), ids, *drop.arrays, epoch, out.numpy())
    run_in_pieces(_apply, arguments, h.shape[0], h.numel() // 16)
    return out


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
