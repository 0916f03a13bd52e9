"""A step of Adam in compiled CPU code: one call for all parameters, one pass over each.

A small model has its parameters in five short arrays; handing each to compiled code would take
longer than moving it. So the code is given a table of addresses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from torch import Tensor

from agnn.kernels._adam import EPSILON, FIRST_DECAY, SECOND_DECAY
from agnn.kernels._cpu.simd import jit, pointer
from agnn.kernels._cpu.threads import run_in_pieces


@jit
def _replicas(
    table: Any, sizes: Any, step: Any, rates: Any, decays: Any, begin: Any, end: Any
) -> None:
    """Replicas begin..end of every parameter; a row of `table` is where (p, g, m, v) start."""
    number = rates.dtype.type
    a = number(FIRST_DECAY)
    b = number(SECOND_DECAY)
    epsilon = number(EPSILON)
    rest_a = number(1.0 - FIRST_DECAY)
    rest_b = number(1.0 - SECOND_DECAY)
    inverse_root = number(1.0 / math.sqrt(1.0 - SECOND_DECAY**step))
    correction = 1.0 - FIRST_DECAY**step
    for k in range(sizes.size):
        size = sizes[k]
        shape = (end * size,)
        p = numba.carray(pointer(table[k, 0], rates), shape)
        g = numba.carray(pointer(table[k, 1], rates), shape)
        m = numba.carray(pointer(table[k, 2], rates), shape)
        v = numba.carray(pointer(table[k, 3], rates), shape)
        for r in range(begin, end):
            rate = number(rates[r] / correction)
            decay = decays[k, r]
            for q in range(r * size, (r + 1) * size):
                slope = g[q] + decay * p[q]
                m[q] = a * m[q] + rest_a * slope
                v[q] = b * v[q] + rest_b * slope * slope
                p[q] -= rate * m[q] / (math.sqrt(v[q]) * inverse_root + epsilon)


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
    columns = zip(parameters, gradients, first, second, strict=True)
    table = np.array([[tensor.data_ptr() for tensor in row] for row in columns], dtype=np.uint64)
    sizes = np.array([parameter.numel() // replicas for parameter in parameters])
    arguments = (table, sizes, int(step), rates.numpy(), decays.numpy())
    run_in_pieces(_replicas, arguments, replicas, replicas * int(sizes.sum()) // 8)
