"""Narrow states of several replicas side by side, so that every lane of a vector has work.

Alone, a row of four numbers would fill a quarter of a vector. What is summed in the same pattern
for all replicas is summed for several of them at once; no sum changes its order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.kernels._cpu.simd import LANES, inline
from agnn.kernels._cpu.threads import new_lines, run_by_rows
from agnn.kernels._runtime.memory import new_tensor

U = np.uint64


def replica_of_lane(replicas: int, d: int) -> NDArray[np.int64]:
    """The replica that each lane of the blocks belongs to, the last one behind the end; [B 16]."""
    lanes = np.arange(-(-replicas * d // LANES) * LANES)
    return np.minimum(lanes // d, replicas - 1)


def as_blocks(h: Tensor) -> NDArray[Any]:
    """`h` [R, n, d] as blocks [B, n * 16]: lane l of block b is number 16 b + l of [R, d]."""
    replicas, n, d = h.shape
    array = h.numpy(force=True)
    if d == LANES:
        return array.reshape(replicas, -1)
    blocks = -(-replicas * d // LANES)
    _, lines = new_lines(blocks, n, LANES, h.dtype)
    run_by_rows(_pack_rows, (array, lines), blocks, n, blocks * n)
    return lines


def from_blocks(lines: NDArray[Any], like: Tensor, rows: int) -> Tensor:
    """Blocks [B, rows * 16] as states [R, rows, d] of the replicas and width of `like`."""
    replicas, _, d = like.shape
    out = new_tensor(replicas, rows, d, dtype=like.dtype)
    run_by_rows(_unpack_rows, (lines, out.numpy()), replicas, rows, lines.size // LANES)
    return out


@inline
def _pack_rows(operands: Any, b: Any, first: Any, last: Any) -> None:
    states, lines = operands
    replicas, _, d = states.shape
    for lane in range(LANES):
        number = b * LANES + lane
        at = U(lane)
        if number < replicas * d:
            column = states[number // d, :, number % d]
            for i in range(first, last):
                lines[b, i * U(LANES) + at] = column[i]
        else:
            for i in range(first, last):
                lines[b, i * U(LANES) + at] = states.dtype.type(0)


@inline
def _unpack_rows(operands: Any, r: Any, first: Any, last: Any) -> None:
    lines, states = operands
    d = states.shape[2]
    for k in range(d):
        number = r * d + k
        line = lines[number // LANES]
        at = U(number % LANES)
        for i in range(first, last):
            states[r, i, k] = line[i * U(LANES) + at]
