"""The linear map of squashed features in compiled CPU code: rows forward, columns backward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agnn.graph import FeatureMatrix
from agnn.kernels._cpu.lines import as_lines, new_lines, start_lines, without_padding
from agnn.kernels._cpu.simd import LANES, compiled, fma, load, multiply_add, splat, store, total
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces

U = np.uint64
_ONE, _LANES = U(1), U(LANES)


@compiled
def _row_units(
    offsets: Any, columns: Any, values: Any, scale: Any, weight: Any, k: Any, start: Any,
    longest: Any, out: Any, rows: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    squashed = np.empty(longest, values.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        s, w, b, o = scale[r], weight[r], start[r], out[r]
        for i in range(U(rows * piece // pieces), U(rows * (piece + 1) // pieces)):
            begin, end = offsets[i], offsets[i + _ONE]
            for q in range(begin, end):
                squashed[q - begin] = math.tanh(values[q] * s[columns[q]])
            for c in range(U(0), U(k), _LANES):
                state = load(b, c)
                for q in range(begin, end):
                    state = fma(squashed[q - begin], load(w, U(columns[q]) * U(k) + c), state)
                store(o, i * U(k) + c, state)


@compiled
def _column_units(
    offsets: Any, rows: Any, values: Any, scale: Any, weight: Any, k: Any, gradient: Any,
    dscale: Any, dweight: Any, width: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The gradients of the columns, units as above; `rows` are the rows of a column's entries."""
    zero, one = values.dtype.type(0), values.dtype.type(1)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        g, w = gradient[r], weight[r]
        for f in range(U(width * piece // pieces), U(width * (piece + 1) // pieces)):
            of_scale = zero
            for c in range(U(0), U(k), _LANES):
                store(dweight[r], f * U(k) + c, splat(zero))
            for q in range(offsets[f], offsets[f + _ONE]):
                squashed = math.tanh(values[q] * scale[r, f])
                products, row = splat(zero), U(rows[q]) * U(k)
                for c in range(U(0), U(k), _LANES):
                    slopes, at = load(g, row + c), f * U(k) + c
                    products = multiply_add(slopes, load(w, at), products)
                    store(dweight[r], at, fma(squashed, slopes, load(dweight[r], at)))
                of_scale += total(products) * (one - squashed * squashed) * values[q]
            dscale[r, f] = of_scale


@compiled
def _sums(gradient: Any, order: Any, k: Any, out: Any) -> None:
    """The sum of all rows of each replica's gradient, in the given order."""
    for r in range(gradient.shape[0]):
        for c in range(U(0), U(k), _LANES):
            state = splat(gradient.dtype.type(0))
            for i in order:
                state = fma(gradient.dtype.type(1), load(gradient[r], i * U(k) + c), state)
            store(out[r], c, state)


def forward(x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(X diag(scale)) W + b; [R, n, k]."""
    lines, k = as_lines(weight)
    replicas, _, outputs = weight.shape
    offsets, columns, _, _, values = x.arrays
    cost = replicas * values.size
    pieces = pieces_of(replicas, cost)
    out, made = new_lines(replicas, x.rows, k, weight.dtype)
    arguments = (
        offsets, columns, values, scale.detach().contiguous().numpy(), lines, k,
        start_lines(bias, replicas, k, lines), x.longest_row, made, x.rows, pieces,
    )  # fmt: skip
    run_in_pieces(_row_units, arguments, replicas * pieces, cost)
    return without_padding(out, outputs)


def backward(
    x: FeatureMatrix, scale: Tensor, weight: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at the scale [R, d_x], the weight [R, d_x, k] and the bias [R, k]."""
    (lines, k), (slopes, _) = as_lines(weight), as_lines(gradient)
    replicas, width, outputs = weight.shape
    offsets, rows, _, _, values = x.column_arrays
    cost = 2 * replicas * values.size
    pieces = pieces_of(replicas, cost)
    dscale = torch.empty(replicas, width, dtype=weight.dtype)
    dweight, made = new_lines(replicas, width, k, weight.dtype)
    arguments = (
        offsets, rows, values, scale.detach().contiguous().numpy(), lines, k, slopes,
        dscale.numpy(), made, width, pieces,
    )  # fmt: skip
    run_in_pieces(_column_units, arguments, replicas * pieces, cost)
    dbias, sums = new_lines(replicas, 1, k, weight.dtype)
    _sums(slopes, x.summation_order, k, sums)
    return dscale, without_padding(dweight, outputs), without_padding(dbias, outputs)[:, 0]
