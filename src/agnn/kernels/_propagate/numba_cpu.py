"""Fixed propagation in compiled CPU code; the backward pass is the same loop, transposed.

Where rows are no whole vectors, as those of class scores, several replicas share the vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from agnn.graph import Propagation
from agnn.kernels._cpu.blocks import as_blocks, from_blocks
from agnn.kernels._cpu.simd import LANES, fma, inline, load, scale, splat, store
from agnn.kernels._cpu.threads import as_lines, new_lines, run_by_rows, without_padding

U = np.uint64
_ONE = U(1)
_LANES = U(LANES)


@inline
def product_rows(
    matrix: Any, h: Any, readable: Any, d: Any, out: Any, first: Any, last: Any
) -> None:
    """Rows first..last of the product; rows of `h` from `readable` on count as zero.

    `matrix` has offsets, columns, the weights of the edges and those of the nodes themselves.
    """
    offsets, columns, weights, loops = matrix
    zero = h.dtype.type(0)
    for i in range(first, last):
        for k in range(U(0), d, _LANES):
            state = splat(zero)
            if i < readable:
                state = scale(loops[i], load(h, i * d + k))
            for q in range(offsets[i], offsets[i + _ONE]):
                j = U(columns[q])
                if j < readable:
                    state = fma(weights[q], load(h, j * d + k), state)
            store(out, i * d + k, state)


@inline
def _rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    matrix, h, readable, d, out = operands
    product_rows(matrix, h[r], U(readable), U(d), out[r], begin, end)


def _product(propagation: Propagation, weights: Tensor, h: Tensor, rows: int) -> Tensor:
    replicas, readable, width = h.shape
    is_shared = replicas > 1 and width % LANES > 0
    lines, d = (as_blocks(h), LANES) if is_shared else as_lines(h)
    out, out_lines = new_lines(len(lines), rows, d, h.dtype)
    cost = len(lines) * (propagation.graph.edges + rows) // 2
    loops = propagation.loop_weights.numpy()
    matrix = (*propagation.graph.arrays[:2], weights.numpy(), loops)
    run_by_rows(_rows, (matrix, lines, readable, d, out_lines), len(lines), rows, cost)
    return from_blocks(out_lines, h, rows) if is_shared else without_padding(out, width)


def forward(propagation: Propagation, h: Tensor, rows: int) -> Tensor:
    """P h at the first `rows` nodes; [R, rows, d]."""
    return _product(propagation, propagation.edge_weights, h, rows)


def backward(propagation: Propagation, gradient: Tensor, n: int) -> Tensor:
    """P^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
    return _product(propagation, propagation.transposed_weights, gradient, n)
