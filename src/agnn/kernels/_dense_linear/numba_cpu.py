"""The dense linear map in compiled CPU code.

Four rows at a time: each vector of W that is loaded serves all of them. Every output is still a sum
in the order of its row, and every sum over rows runs in the order of the rows' labels in the whole
graph, so neither the blocks nor what was pruned away change a bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from agnn.kernels._cpu.lines import as_lines, new_lines, start_lines, without_padding
from agnn.kernels._cpu.simd import LANES, compiled, fma, inlined, load, store
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces, threads_for
from agnn.kernels._dropout.numba_cpu import KEEP_ALL, epoch_state, is_kept, row_state

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

U = np.uint64
_LANES = U(LANES)
GROUP = 4  # rows


@inlined
def _multipliers(
    dropped: Any, key: Any, state: Any, row: Any, threshold: Any, scale: Any, first: Any,
    last: Any, out: Any, at: Any,
) -> None:  # fmt: skip
    """What the states first..last of a row are multiplied by, the row's own from `at` on."""
    zero, one = out.dtype.type(0), out.dtype.type(1)
    if not dropped:
        for t in range(first, last):
            out[at + t] = one
    else:
        words = row_state(key, state, row)
        for t in range(first, last):
            out[at + t] = scale if is_kept(words, t, threshold) else zero


@inlined
def _products(
    x: Any, d: Any, w: Any, k: Any, start: Any, rows: Any, count: Any, out: Any, first: Any,
    last: Any,
) -> None:  # fmt: skip
    """Columns first..last of start + x W for up to four rows: x [4 d], W [d k].

    Row b goes to row `rows[b]` of `out`.
    """
    one, two, three = U(d), U(2) * U(d), U(3) * U(d)
    for c in range(first, last, _LANES):
        if count == GROUP:
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
            for b in range(U(count)):
                a0 = load(start, c)
                for t in range(U(d)):
                    a0 = fma(x[b * one + t], load(w, t * U(k) + c), a0)
                store(out, rows[b] * U(k) + c, a0)


@inlined
def _outer_sums(
    x: Any, d: Any, g: Any, k: Any, rows: Any, count: Any, dw: Any, first: Any, last: Any
) -> None:
    """Add rows first..last of x_b (x) g_b of up to four b, one after the other, to those of dW."""
    one, two, three = U(d), U(2) * U(d), U(3) * U(d)
    for c in range(U(0), U(k), _LANES):
        if count == GROUP:
            g0, g1 = load(g, rows[0] * U(k) + c), load(g, rows[1] * U(k) + c)
            g2, g3 = load(g, rows[2] * U(k) + c), load(g, rows[3] * U(k) + c)
            for t in range(first, last):
                found = fma(x[t], g0, load(dw, t * U(k) + c))
                found = fma(x[t + one], g1, found)
                found = fma(x[t + two], g2, found)
                store(dw, t * U(k) + c, fma(x[t + three], g3, found))
        else:
            for b in range(U(count)):
                slopes = load(g, rows[b] * U(k) + c)
                for t in range(first, last):
                    at = t * U(k) + c
                    store(dw, at, fma(x[b * one + t], slopes, load(dw, at)))


@compiled
def _forward_units(
    h: Any, weight: Any, k: Any, bias: Any, row_ids: Any, dropped: Any, keys: Any,
    thresholds: Any, scales: Any, epoch: Any, out: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    _, n, d = h.shape
    x, rows = np.empty(GROUP * d, h.dtype), np.empty(GROUP, np.uint64)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        s = r if dropped else 0
        key, threshold, scale = keys[s], thresholds[s], h.dtype.type(scales[s])
        state = epoch_state(key, epoch)
        end = n * (piece + 1) // pieces
        for begin in range(n * piece // pieces, end, GROUP):
            count = min(GROUP, end - begin)
            for b in range(count):
                i, at = U(begin + b), U(b * d)
                rows[b] = i
                _multipliers(dropped, key, state, row_ids[i], threshold, scale, U(0), U(d), x, at)
                for t in range(U(d)):
                    x[at + t] *= h[r, i, t]
            _products(x, d, weight[r], k, bias[r], rows, count, out[r], U(0), U(k))


@compiled
def _backward_units(
    h: Any, turned: Any, padded: Any, k: Any, gradient: Any, row_ids: Any, dropped: Any, keys: Any,
    thresholds: Any, scales: Any, epoch: Any, order: Any, dh: Any, dweight: Any, dbias: Any,
    outputs: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the columns of replica `u // pieces`.

    A sum over rows has one order, so the rows are not divided. `turned` is W transposed, [k, d],
    its rows padded to `padded`, as those of `dh` are.
    """
    _, n, d = h.shape
    one = h.dtype.type(1)
    x, multipliers = np.empty(GROUP * d, h.dtype), np.empty(GROUP * d, h.dtype)
    slopes, nothing = np.empty(GROUP * outputs, h.dtype), np.zeros(padded, h.dtype)
    rows = np.empty(GROUP, np.uint64)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        # Unsigned: numba would ask of every index whether it is below 0, and use no vectors.
        left = U(padded // LANES * piece // pieces * LANES)
        right = U(padded // LANES * (piece + 1) // pieces * LANES)
        own = min(right, U(d))  # behind it is padding
        s = r if dropped else 0
        key, threshold, scale = keys[s], thresholds[s], h.dtype.type(scales[s])
        state = epoch_state(key, epoch)
        g, db = gradient[r], dbias[r]
        for begin in range(0, n, GROUP):
            count = min(GROUP, n - begin)
            for b in range(count):
                i, at = U(order[begin + b]), U(b * d)
                rows[b] = i
                _multipliers(
                    dropped, key, state, row_ids[i], threshold, scale, left, own, multipliers, at
                )
                for t in range(left, own):
                    x[at + t] = h[r, i, t] * multipliers[at + t]
                for c in range(U(outputs)):
                    slopes[U(b * outputs) + c] = g[i * U(k) + c]
                if piece == 0:
                    for c in range(U(0), U(k), _LANES):
                        store(db, c, fma(one, load(g, i * U(k) + c), load(db, c)))
            _outer_sums(x, d, g, k, rows, count, dweight[r], left, own)
            _products(slopes, outputs, turned[r], padded, nothing, rows, count, dh[r], left, right)
            for b in range(count):
                for t in range(left, own):
                    dh[r, rows[b] * U(padded) + t] *= multipliers[U(b * d) + t]


def _draws(row_ids: Tensor, drop: DropoutAt | None) -> tuple[Any, ...]:
    draws = (False, *KEEP_ALL, 0) if drop is None else (True, *drop.arrays, int(drop.epoch))
    return row_ids.numpy(), *draws


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    replicas, n, d = h.shape
    lines, k = as_lines(weight)
    outputs = weight.shape[2]
    out, made = new_lines(replicas, n, k, h.dtype)
    cost = replicas * n * d * k // 64
    pieces = pieces_of(replicas, cost)
    arguments = (
        h.detach().contiguous().numpy(), lines, k, start_lines(bias, replicas, k, lines),
        *_draws(row_ids, drop), made, pieces,
    )  # fmt: skip
    run_in_pieces(_forward_units, arguments, replicas * pieces, cost)
    return without_padding(out, outputs)


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    replicas, n, d = h.shape
    outputs = weight.shape[2]
    slopes, k = as_lines(gradient)
    turned, padded = as_lines(weight.mT)
    dh, made = new_lines(replicas, n, padded, h.dtype)
    dweight = torch.zeros(replicas, d, k, dtype=h.dtype)
    dbias = torch.zeros(replicas, 1, k, dtype=h.dtype)
    # A stable sort is the fast one where they are in order already.
    order = np.argsort(row_ids.numpy(), kind="stable")
    cost = replicas * n * d * k // 16
    # A unit reads all gradients, however few of the columns it has: no more units than threads.
    pieces = min(threads_for(cost) if pieces_of(replicas, cost) > 1 else 1, padded // LANES)
    arguments = (
        h.detach().contiguous().numpy(), turned, padded, k, slopes, *_draws(row_ids, drop),
        order, made, as_lines(dweight)[0], as_lines(dbias)[0], outputs, pieces,
    )  # fmt: skip
    run_in_pieces(_backward_units, arguments, replicas * pieces, cost)
    return (
        without_padding(dh, d), without_padding(dweight, outputs),
        without_padding(dbias, outputs)[:, 0],
    )  # fmt: skip
