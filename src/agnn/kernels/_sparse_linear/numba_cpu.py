"""The sparse linear map in compiled CPU code.

Forward by rows of X, backward by columns: each row of the result and of the gradient is summed in
registers and written once. (Adding row by row to the weight's gradient instead was no faster.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from agnn.graph import SparseFeatures
from agnn.kernels._cpu.simd import LANES, fma, inline, jit, load, splat, store
from agnn.kernels._cpu.threads import (
    as_lines,
    new_lines,
    run_by_rows,
    start_lines,
    width_argument,
    width_of,
    without_padding,
)
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._dropout.numba_cpu import draw_of, drop_operands, is_kept, row_state

U = np.uint64
_ONE = U(1)
_LANES = U(LANES)
_BLOCK = 1024  # entries of X whose dropout is drawn in one vector loop


@jit
def _draw(entries: Any, draw: Any, begin: Any, end: Any, out: Any) -> None:
    """The entries begin..end of X after dropout."""
    _, _, rows, columns, values = entries
    zero = values.dtype.type(0)
    for t in range(end - begin):
        q = t + begin
        kept = is_kept(row_state(draw.key, draw.state, rows[q]), columns[q], draw.threshold)
        out[t] = values[q] * draw.scale if kept else zero


@inline
def _lines(operands: Any, r: Any, first: Any, last: Any) -> None:
    """out_i = start + sum over entries q of line i of dropout(values)_q source[indices_q].

    A line is a row of X in the forward pass and a column of X in the backward pass. `entries` has
    the lines' offsets and, of every entry, the row of the source, its two labels and its value.
    """
    entries, starts, sources, padded, drop, lines, longest = operands
    offsets, indices, _, _, values = entries
    start = starts[r]
    source = sources[r]
    out = lines[r]
    d = width_of(padded)
    draw = draw_of(drop, r, values)
    factors = np.empty(max(_BLOCK, longest), values.dtype)
    begin = first
    while begin < last:
        end = begin + _ONE
        while end < last and offsets[end + _ONE] - offsets[begin] <= U(_BLOCK):
            end += _ONE
        shift = U(0)
        multipliers = values
        if draw.is_on:
            shift = offsets[begin]
            multipliers = factors
            _draw(entries, draw, shift, offsets[end], factors)
        for i in range(begin, end):
            for k in range(U(0), d, _LANES):
                total = load(start, k)
                for q in range(offsets[i], offsets[i + _ONE]):
                    row = load(source, U(indices[q]) * d + k)
                    total = fma(multipliers[q - shift], row, total)
                store(out, i * d + k, total)
        begin = end


@jit
def _column_sums(gradient: Any, order: Any, d: Any, out: Any) -> None:
    """The sum of all rows of each replica's gradient, in the given order."""
    zero = gradient.dtype.type(0)
    one = gradient.dtype.type(1)
    for r in range(gradient.shape[0]):
        lines = gradient[r]
        sums = out[r]
        for k in range(U(0), U(d), _LANES):
            state = splat(zero)
            for i in order:
                state = fma(one, load(lines, i * U(d) + k), state)
            store(sums, k, state)


def forward(
    x: SparseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    source, d = as_lines(weight)
    replicas, _, width = weight.shape
    start = start_lines(bias, replicas, d, source)
    out, out_lines = new_lines(replicas, x.rows, d, weight.dtype)
    operands = (x.arrays, start, source, width_argument(d), drop_operands(drop))
    _run((*operands, out_lines, x.longest_row))
    return without_padding(out, width)


def backward(x: SparseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    source, d = as_lines(gradient)
    replicas, _, width = gradient.shape
    start = start_lines(None, replicas, d, source)
    dweight, dweight_lines = new_lines(replicas, x.width, d, gradient.dtype)
    operands = (x.column_arrays, start, source, width_argument(d), drop_operands(drop))
    _run((*operands, dweight_lines, x.longest_column))
    dbias, sums = new_lines(replicas, 1, d, gradient.dtype)
    _column_sums(source, x.summation_order, d, sums)
    return without_padding(dweight, width), without_padding(dbias, width)[:, 0]


def _run(operands: tuple[Any, ...]) -> None:
    offsets, *_, values = operands[0]
    replicas = operands[2].shape[0]
    run_by_rows(_lines, operands, replicas, offsets.size - 1, replicas * values.size // 4)
