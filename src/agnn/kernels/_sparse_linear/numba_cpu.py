"""The sparse linear map in compiled CPU code.

Forward by rows of X, backward by columns: each row of the result and of the gradient is summed in
registers and written once. (Adding row by row to the weight's gradient instead was no faster.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import FeatureMatrix
from agnn.kernels._cpu.lines import (
    as_lines,
    new_lines,
    start_lines,
    width_argument,
    width_of,
    without_padding,
)
from agnn.kernels._cpu.simd import LANES, compiled, fma, inlined, load, splat, store
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces
from agnn.kernels._dropout.numba_cpu import KEEP_ALL, epoch_state, is_kept, row_state

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

U = np.uint64
_ONE, _LANES = U(1), U(LANES)


_BLOCK = 1024  # entries of X whose dropout is drawn in one vector loop


@compiled
def _draw(
    rows: Any, columns: Any, values: Any, key: Any, state: Any, threshold: Any, scale: Any,
    begin: Any, end: Any, out: Any,
) -> None:  # fmt: skip
    """The entries begin..end of X after dropout; `rows` and `columns` are their labels."""
    zero = values.dtype.type(0)
    for t in range(end - begin):
        q = t + begin
        kept = is_kept(row_state(key, state, rows[q]), columns[q], threshold)
        out[t] = values[q] * scale if kept else zero


@inlined
def _products(
    offsets: Any, indices: Any, rows: Any, columns: Any, values: Any, start: Any, source: Any,
    d: Any, dropped: Any, key: Any, state: Any, threshold: Any, scale: Any,
    factors: Any, out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """out_i = start + sum over entries q of line i of dropout(values)_q source[indices_q].

    A line is a row of X in the forward pass and a column of X in the backward pass.
    """
    begin = first
    while begin < last:
        end = begin + _ONE
        while end < last and offsets[end + _ONE] - offsets[begin] <= U(_BLOCK):
            end += _ONE
        shift, multipliers = U(0), values
        if dropped:
            shift, multipliers = offsets[begin], factors
            _draw(rows, columns, values, key, state, threshold, scale, shift, offsets[end], factors)
        for i in range(begin, end):
            for k in range(U(0), d, _LANES):
                total = load(start, k)
                for q in range(offsets[i], offsets[i + _ONE]):
                    row = load(source, U(indices[q]) * d + k)
                    total = fma(multipliers[q - shift], row, total)
                store(out, i * d + k, total)
        begin = end


@compiled
def _units(
    offsets: Any, indices: Any, rows: Any, columns: Any, values: Any, starts: Any, sources: Any,
    d: Any, dropped: Any, keys: Any, thresholds: Any, scales: Any, epoch: Any,
    out: Any, longest: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of replica `u // pieces`."""
    count = offsets.size - 1
    factors = np.empty(max(_BLOCK, longest), values.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        s = r if dropped else 0
        key, threshold, scale = keys[s], thresholds[s], values.dtype.type(scales[s])
        state = epoch_state(key, epoch)
        begin, end = U(count * piece // pieces), U(count * (piece + 1) // pieces)
        _products(
            offsets, indices, rows, columns, values, starts[r], sources[r], width_of(d),
            dropped, key, state, threshold, scale, factors, out[r], begin, end,
        )  # fmt: skip


@compiled
def _column_sums(gradient: Any, order: Any, d: Any, out: Any) -> None:
    """The sum of all rows of each replica's gradient, in the given order."""
    zero = gradient.dtype.type(0)
    one = gradient.dtype.type(1)
    for r in range(gradient.shape[0]):
        lines, sums = gradient[r], out[r]
        for k in range(U(0), U(d), _LANES):
            state = splat(zero)
            for i in order:
                state = fma(one, load(lines, i * U(d) + k), state)
            store(sums, k, state)


def forward(
    x: FeatureMatrix, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    source, d = as_lines(weight)
    replicas, _, width = weight.shape
    start = start_lines(bias, replicas, d, source)
    out, made = new_lines(replicas, x.rows, d, weight.dtype)
    _run(x.arrays, x.longest_row, start, source, d, drop, made)
    return without_padding(out, width)


def backward(x: FeatureMatrix, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    source, d = as_lines(gradient)
    replicas, _, width = gradient.shape
    start = start_lines(None, replicas, d, source)
    dweight, made = new_lines(replicas, x.width, d, gradient.dtype)
    _run(x.column_arrays, x.longest_column, start, source, d, drop, made)
    dbias, sums = new_lines(replicas, 1, d, gradient.dtype)
    _column_sums(source, x.summation_order, d, sums)
    return without_padding(dweight, width), without_padding(dbias, width)[:, 0]


def _run(
    entries: tuple[Any, ...], longest: int, start: Any, source: Any, d: int,
    drop: DropoutAt | None, out: NDArray[Any],
) -> None:  # fmt: skip
    replicas = source.shape[0]
    cost = replicas * entries[-1].size // 4
    pieces = pieces_of(replicas, cost)
    draws = (False, *KEEP_ALL, 0) if drop is None else (True, *drop.arrays, int(drop.epoch))
    arguments = (*entries, start, source, width_argument(d), *draws, out, longest, pieces)
    run_in_pieces(_units, arguments, replicas * pieces, cost)
