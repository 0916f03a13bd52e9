"""Cosine attention on a GPU, forward: what it does at the rows that one block looks at.

A block holds a tile of some rows and some neighbours of each, and adds up in that tile; only at
the end of its rows it sums over the neighbours. The labels of the next neighbours are read while
the states of the present ones are on their way. A cosine is at most 1, so the exponentials are
shifted by |beta| and partial sums of a split row simply add up. Only below `LOWEST`, where a whole
row could underflow, a first pass finds the largest score.

`csr.weights` multiply the exponentials; for a graph without them it is None, which Triton compiles
away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._gpu.rows import Operation, entries_of, part_like, rows_of, store_rows

LOWEST = tl.constexpr(-40.0)


class Forward(NamedTuple):
    """The operands."""

    h: Tensor  # [R, n, d]
    betas: Tensor  # [R]
    out: Tensor  # [R, rows, d]
    logs: Tensor  # [R, rows]: the logarithm of each row's sum of exp(score)
    n: int
    rows: int


class _Known(NamedTuple):
    """Of one replica the states and beta, and of the rows what stands there."""

    h: Any
    beta: Any
    hi: Any
    ri: Any  # 1 / |h_i|
    own: Any  # the score of a row with itself: its cosine is 1, or 0 for a zero row


@triton.jit
def inverse_norm(square):
    """1 / |h|, and 0 for a zero row: its cosine with every row is 0."""
    positive = square > 0
    return tl.where(positive, tl.rsqrt(tl.where(positive, square, 1.0)), 0.0)


@triton.jit
def weights_of(weights, begin, k, there, U: tl.constexpr):
    """The weights of the entries k to k + U of some rows [B]; 1 where there are none."""
    u = k + tl.arange(0, U)[None, :]
    return tl.load(weights + begin[:, None] + u, mask=there, other=1.0)


@triton.jit
def _highest_score(csr, h, rows, scaled, start, SHAPE: tl.constexpr, U: tl.constexpr):
    """The largest score of each row, at least `start`; [B]."""
    highest = start
    j, there = entries_of(csr.columns, rows.begin, rows.length, 0, U)
    for k in range(0, tl.max(rows.length, 0), U):
        next_j, next_there = entries_of(csr.columns, rows.begin, rows.length, k + U, U)
        hj = rows_of(h, j, there, SHAPE.WIDTH, SHAPE.D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * inverse_norm(tl.sum(hj * hj, 2))
        highest = tl.maximum(highest, tl.max(tl.where(there, score, float("-inf")), 1))
        j = next_j
        there = next_there
    return highest


@triton.jit
def _weighted_sum(csr, h, rows, scaled, shift, SHAPE: tl.constexpr, U: tl.constexpr):
    """Sums over the neighbours of some rows [B] of e and of e h_j, e = exp(score - shift)."""
    acc = tl.zeros((scaled.shape[0], U, scaled.shape[1]), scaled.dtype)
    total = tl.zeros((scaled.shape[0], U), scaled.dtype)
    j, there = entries_of(csr.columns, rows.begin, rows.length, 0, U)
    for k in range(0, tl.max(rows.length, 0), U):
        next_j, next_there = entries_of(csr.columns, rows.begin, rows.length, k + U, U)
        hj = rows_of(h, j, there, SHAPE.WIDTH, SHAPE.D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * inverse_norm(tl.sum(hj * hj, 2))
        e = tl.where(there, tl.exp(score - shift[:, None]), 0.0)
        if csr.weights is not None:
            e *= weights_of(csr.weights, rows.begin, k, there, U)
        total += e
        acc += e[:, :, None] * hj
        j = next_j
        there = next_there
    return tl.sum(total, 1), tl.sum(acc, 1)


@triton.jit
def _read(x, rows, SHAPE: tl.constexpr):
    h = x.h + rows.r * x.n * SHAPE.WIDTH
    hi = rows_of(h, rows.i, rows.present, SHAPE.WIDTH, SHAPE.D)
    ri = inverse_norm(tl.sum(hi * hi, 1))
    beta = tl.load(x.betas + rows.r)
    return _Known(h, beta, hi, ri, tl.where(ri > 0, beta, 0.0))


@triton.jit
def _gather(csr, _x, rows, known, SHAPE: tl.constexpr, U: tl.constexpr):
    """The shifts of the rows, and their sums over the given neighbours."""
    scaled = known.hi * (known.beta * known.ri)[:, None]
    shift = tl.where(known.ri > 0, tl.abs(known.beta), 0.0)
    if known.beta < LOWEST:
        shift = _highest_score(csr, known.h, rows, scaled, known.own, SHAPE, U)
    total, acc = _weighted_sum(csr, known.h, rows, scaled, shift, SHAPE, U)
    return shift, total, acc


@triton.jit
def _finish(x, rows, known, sums, SHAPE: tl.constexpr):
    """Add the rows themselves, and write the states and logarithms."""
    shift, total, acc = sums
    e = tl.exp(known.own - shift)
    total += e
    _store(x, rows, shift, total, acc + e[:, None] * known.hi, SHAPE)


@triton.jit
def _join(x, rows, known, parts, SHAPE: tl.constexpr):
    """The same from the sums of segments, each of which has a shift of its own."""
    own = known.own
    shift = own
    for s in range(rows.begin, rows.begin + rows.length):
        shift = tl.maximum(shift, part_like(parts[0], s, own))
    total = tl.exp(own - shift)
    acc = total[:, None] * known.hi
    for s in range(rows.begin, rows.begin + rows.length):
        share = tl.exp(part_like(parts[0], s, own) - shift)
        total += share * part_like(parts[1], s, total)
        acc += share[:, None] * part_like(parts[2], s, acc)
    _store(x, rows, shift, total, acc, SHAPE)


@triton.jit
def _store(x, rows, shift, total, acc, SHAPE: tl.constexpr):
    places = rows.r * x.rows + rows.i
    store_rows(x.out, places, acc / total[:, None], rows.present, SHAPE.WIDTH)
    tl.store(x.logs + places, shift + tl.log(total), mask=rows.present)


FORWARD = Operation("cosine_forward", read=_read, gather=_gather, join=_join, finish=_finish)
