"""The dense linear map in compiled CPU code.

Four rows at a time: each vector of W that is loaded serves all of them. Every output is still a sum
in the order of its row, and every sum over rows runs in the order of the rows' labels in the whole
graph, so neither the blocks nor what was pruned away change a bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from agnn.kernels._cpu.simd import LANES, fma, inline, load, store
from agnn.kernels._cpu.threads import (
    as_lines,
    new_lines,
    pieces_of,
    run_by_rows,
    start_lines,
    threads_for,
    without_padding,
)
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._dropout.numba_cpu import draw_of, drop_operands, is_kept, row_state

U = np.uint64
_LANES = U(LANES)
GROUP = 4  # rows
_GROUP = U(GROUP)
_PAIR = U(2 * LANES)


@inline
def _multipliers(draw: Any, row: Any, first: Any, last: Any, out: Any, at: Any) -> None:
    """What the states first..last of a row are multiplied by, the row's own from `at` on."""
    zero = out.dtype.type(0)
    one = out.dtype.type(1)
    if not draw.is_on:
        for t in range(first, last):
            out[at + t] = one
    else:
        words = row_state(draw.key, draw.state, row)
        for t in range(first, last):
            out[at + t] = draw.scale if is_kept(words, t, draw.threshold) else zero


@inline
def _products(block: Any, d: Any, matrix: Any, start: Any, out: Any, first: Any, last: Any) -> None:
    """Columns first..last of start + x W for up to four rows.

    `block` is x [4 d], the rows of `out` that they go to, and how many they are; `matrix` is
    W [d k] and k.
    """
    x, rows, count = block
    w, k = matrix
    one = U(d)
    two = U(2) * one
    three = U(3) * one
    while count == _GROUP and first + _PAIR <= last:  # eight sums: four wait for themselves
        a0 = a1 = a2 = a3 = load(start, first)
        b0 = b1 = b2 = b3 = load(start, first + _LANES)
        for t in range(U(d)):
            left = load(w, t * U(k) + first)
            right = load(w, t * U(k) + first + _LANES)
            a0 = fma(x[t], left, a0)
            b0 = fma(x[t], right, b0)
            a1 = fma(x[t + one], left, a1)
            b1 = fma(x[t + one], right, b1)
            a2 = fma(x[t + two], left, a2)
            b2 = fma(x[t + two], right, b2)
            a3 = fma(x[t + three], left, a3)
            b3 = fma(x[t + three], right, b3)
        store(out, rows[0] * U(k) + first, a0)
        store(out, rows[0] * U(k) + first + _LANES, b0)
        store(out, rows[1] * U(k) + first, a1)
        store(out, rows[1] * U(k) + first + _LANES, b1)
        store(out, rows[2] * U(k) + first, a2)
        store(out, rows[2] * U(k) + first + _LANES, b2)
        store(out, rows[3] * U(k) + first, a3)
        store(out, rows[3] * U(k) + first + _LANES, b3)
        first += _PAIR
    for c in range(first, last, _LANES):
        if count == _GROUP:
            a0 = a1 = a2 = a3 = load(start, c)
            for t in range(U(d)):
                row = load(w, t * U(k) + c)
                a0 = fma(x[t], row, a0)
                a1 = fma(x[t + one], row, a1)
                a2 = fma(x[t + two], row, a2)
                a3 = fma(x[t + three], row, a3)
            store(out, rows[0] * U(k) + c, a0)
            store(out, rows[1] * U(k) + c, a1)
            store(out, rows[2] * U(k) + c, a2)
            store(out, rows[3] * U(k) + c, a3)
        else:
            for b in range(count):
                a0 = load(start, c)
                for t in range(U(d)):
                    a0 = fma(x[b * one + t], load(w, t * U(k) + c), a0)
                store(out, rows[b] * U(k) + c, a0)


@inline
def _outer_sums(block: Any, d: Any, gradient: Any, dw: Any, first: Any, last: Any) -> None:
    """Add rows first..last of x_b (x) g_b of up to four b, one after the other, to those of dW."""
    x, rows, count = block
    g, k = gradient
    one = U(d)
    two = U(2) * one
    three = U(3) * one
    begin = U(0)
    while count == _GROUP and begin + _PAIR <= U(k):
        g0 = load(g, rows[0] * U(k) + begin)
        g1 = load(g, rows[1] * U(k) + begin)
        g2 = load(g, rows[2] * U(k) + begin)
        g3 = load(g, rows[3] * U(k) + begin)
        f0 = load(g, rows[0] * U(k) + begin + _LANES)
        f1 = load(g, rows[1] * U(k) + begin + _LANES)
        f2 = load(g, rows[2] * U(k) + begin + _LANES)
        f3 = load(g, rows[3] * U(k) + begin + _LANES)
        for t in range(first, last):
            at = t * U(k) + begin
            left = fma(x[t], g0, load(dw, at))
            right = fma(x[t], f0, load(dw, at + _LANES))
            left = fma(x[t + one], g1, left)
            right = fma(x[t + one], f1, right)
            left = fma(x[t + two], g2, left)
            right = fma(x[t + two], f2, right)
            store(dw, at, fma(x[t + three], g3, left))
            store(dw, at + _LANES, fma(x[t + three], f3, right))
        begin += _PAIR
    for c in range(begin, U(k), _LANES):
        if count == _GROUP:
            g0 = load(g, rows[0] * U(k) + c)
            g1 = load(g, rows[1] * U(k) + c)
            g2 = load(g, rows[2] * U(k) + c)
            g3 = load(g, rows[3] * U(k) + c)
            for t in range(first, last):
                state = fma(x[t], g0, load(dw, t * U(k) + c))
                state = fma(x[t + one], g1, state)
                state = fma(x[t + two], g2, state)
                store(dw, t * U(k) + c, fma(x[t + three], g3, state))
        else:
            for b in range(count):
                slopes = load(g, rows[b] * U(k) + c)
                for t in range(first, last):
                    at = t * U(k) + c
                    store(dw, at, fma(x[b * one + t], slopes, load(dw, at)))


@inline
def _forward_rows(operands: Any, r: Any, first: Any, last: Any) -> None:
    h, weights, k, biases, row_ids, drop, out = operands
    d = h.shape[2]
    x = np.empty(GROUP * d, h.dtype)
    rows = np.empty(GROUP, np.uint64)
    draw = draw_of(drop, r, h)
    for begin in range(first, last, _GROUP):
        count = min(_GROUP, last - begin)
        for b in range(count):
            i = begin + b
            at = b * U(d)
            rows[b] = i
            _multipliers(draw, row_ids[i], U(0), U(d), x, at)
            for t in range(U(d)):
                x[at + t] *= h[r, i, t]
        _products((x, rows, count), d, (weights[r], k), biases[r], out[r], U(0), U(k))


@inline
def _backward_columns(operands: Any, r: Any, first: Any, last: Any) -> None:
    """Vectors first..last of the columns of dh, and the rows of dW that belong to them.

    A sum over rows has one order, so the rows are not divided. `turned` is W transposed, [k, d],
    its rows padded to `padded`, as those of `dh` are.
    """
    h, turned, padded, gradients, k, outputs, row_ids, drop, order, results = operands
    dh = results[0][r]
    dweight = results[1][r]
    dbias = results[2][r]
    _, n, d = h.shape
    one = h.dtype.type(1)
    x = np.empty(GROUP * d, h.dtype)
    multipliers = np.empty(GROUP * d, h.dtype)
    slopes = np.empty(GROUP * outputs, h.dtype)
    nothing = np.zeros(padded, h.dtype)
    rows = np.empty(GROUP, np.uint64)
    left = first * _LANES
    right = last * _LANES
    own = min(right, U(d))  # behind it is padding
    draw = draw_of(drop, r, h)
    g = gradients[r]
    for begin in range(U(0), U(n), _GROUP):
        count = min(_GROUP, U(n) - begin)
        for b in range(count):
            i = U(order[begin + b])
            at = b * U(d)
            rows[b] = i
            _multipliers(draw, row_ids[i], left, own, multipliers, at)
            for t in range(left, own):
                x[at + t] = h[r, i, t] * multipliers[at + t]
            for c in range(U(outputs)):
                slopes[b * U(outputs) + c] = g[i * U(k) + c]
            if left == U(0):  # one of the units adds up the bias
                for c in range(U(0), U(k), _LANES):
                    store(dbias, c, fma(one, load(g, i * U(k) + c), load(dbias, c)))
        _outer_sums((x, rows, count), d, (g, k), dweight, left, own)
        block = (slopes, rows, count)
        _products(block, outputs, (turned[r], padded), nothing, dh, left, right)
        for b in range(count):
            for t in range(left, own):
                dh[rows[b] * U(padded) + t] *= multipliers[b * U(d) + t]


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    replicas, n, d = h.shape
    lines, k = as_lines(weight)
    outputs = weight.shape[2]
    out, out_lines = new_lines(replicas, n, k, h.dtype)
    operands = (
        h.detach().contiguous().numpy(),
        lines,
        k,
        start_lines(bias, replicas, k, lines),
        row_ids.numpy(),
        drop_operands(drop),
        out_lines,
    )
    run_by_rows(_forward_rows, operands, replicas, n, replicas * n * d * k // 64)
    return without_padding(out, outputs)


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    replicas, n, d = h.shape
    outputs = weight.shape[2]
    slopes, k = as_lines(gradient)
    turned, padded = as_lines(weight.mT)
    dh, dh_lines = new_lines(replicas, n, padded, h.dtype)
    dweight = torch.zeros(replicas, d, k, dtype=h.dtype)
    dbias = torch.zeros(replicas, 1, k, dtype=h.dtype)
    # A stable sort is the fast one where they are in order already.
    order = np.argsort(row_ids.numpy(), kind="stable")
    cost = replicas * n * d * k // 16
    vectors = padded // LANES
    # A unit reads all gradients, however few of the columns it has: no more units than threads.
    pieces = min(threads_for(cost) if pieces_of(replicas, cost) > 1 else 1, vectors)
    operands = (
        h.detach().contiguous().numpy(),
        turned,
        padded,
        slopes,
        k,
        outputs,
        row_ids.numpy(),
        drop_operands(drop),
        order,
        (dh_lines, as_lines(dweight)[0], as_lines(dbias)[0]),
    )
    run_by_rows(_backward_columns, operands, replicas, vectors, cost, pieces=pieces)
    return (
        without_padding(dh, d),
        without_padding(dweight, outputs),
        without_padding(dbias, outputs)[:, 0],
    )
