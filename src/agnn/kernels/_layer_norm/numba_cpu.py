"""Rows with mean 0 and variance 1 in compiled CPU code.

torch takes some 50 ns for a row of 64 numbers, which is read in a fifth of that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from agnn.kernels import _layer_norm as definition
from agnn.kernels._cpu.simd import (
    LANES,
    add,
    inline,
    load,
    multiply,
    multiply_add,
    scale,
    splat,
    store,
    subtract,
    total,
)
from agnn.kernels._cpu.threads import as_lines, new_lines, run_by_rows
from agnn.kernels._layer_norm import EPSILON

U = np.uint64
_LANES = U(LANES)


@inline
def _forward_rows(operands: Any, r: Any, first: Any, last: Any) -> None:
    states, width, sums, scales = operands
    x = states[r]
    out = sums[r]
    d = U(width)
    number = x.dtype.type
    share = number(1.0 / width)
    for i in range(first, last):
        begin = i * d
        values = load(x, begin)
        for k in range(begin + _LANES, begin + d, _LANES):
            values = add(values, load(x, k))
        mean = splat(total(values) * share)
        squares = splat(number(0))
        for k in range(begin, begin + d, _LANES):
            centred = subtract(load(x, k), mean)
            squares = multiply_add(centred, centred, squares)
        factor = number(1) / math.sqrt(total(squares) * share + number(EPSILON))
        for k in range(begin, begin + d, _LANES):
            store(out, k, scale(factor, subtract(load(x, k), mean)))
        scales[r, i] = factor


@inline
def _backward_rows(operands: Any, r: Any, first: Any, last: Any) -> None:
    outputs, scales, gradients, width, slopes = operands
    y = outputs[r]
    g = gradients[r]
    out = slopes[r]
    d = U(width)
    number = y.dtype.type
    share = number(1.0 / width)
    for i in range(first, last):
        begin = i * d
        values = splat(number(0))
        products = splat(number(0))
        for k in range(begin, begin + d, _LANES):
            values = add(values, load(g, k))
            products = multiply_add(load(g, k), load(y, k), products)
        mean = splat(total(values) * share)
        share_of_output = splat(total(products) * share)
        for k in range(begin, begin + d, _LANES):
            slope = subtract(load(g, k), mean)
            slope = subtract(slope, multiply(share_of_output, load(y, k)))
            store(out, k, scale(scales[r, i], slope))


def forward(x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The new states [R, n, d]; themselves, and the inverse deviations of their rows [R, n]."""
    replicas, n, d = x.shape
    if d % LANES:
        return definition.forward(x)
    lines, _ = as_lines(x)
    out, out_lines = new_lines(replicas, n, d, x.dtype)
    scales = x.new_empty(replicas, n)
    operands = (lines, d, out_lines, scales.numpy())
    run_by_rows(_forward_rows, operands, replicas, n, replicas * n * d // 32)
    return out, (out, scales)


def backward(saved: tuple[Tensor, ...], gradient: Tensor) -> Tensor:
    """s_i (g_i - mean(g_i) - y_i mean(g_i y_i)) for outputs y and inverse deviations s."""
    replicas, n, d = gradient.shape
    if d % LANES:
        return definition.backward(saved, gradient)
    out, scales = saved
    lines, _ = as_lines(out)
    slopes, _ = as_lines(gradient)
    dx, dx_lines = new_lines(replicas, n, d, gradient.dtype)
    operands = (lines, scales.numpy(), slopes, d, dx_lines)
    run_by_rows(_backward_rows, operands, replicas, n, replicas * n * d // 32)
    return dx
