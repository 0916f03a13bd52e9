"""The programs of cosine attention on a GPU, forward.

A program holds a tile of some rows and some neighbours of each, and adds up in that tile; only at
the end of its rows it sums over the neighbours. The labels of the next neighbours are read while
the states of the present ones are on their way. A cosine is at most 1, so the exponentials are
shifted by |beta| and partial sums of a split row simply add up. Only below `LOWEST`, where a whole
row could underflow, a first pass finds the largest score.

`weights` by edge multiply the exponentials; for a graph without them it is None, which Triton
compiles away.
"""

from __future__ import annotations

import triton
import triton.language as tl

from agnn.kernels._gpu.gather import (
    entries_of,
    long_row_of_program,
    rows_of,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs

LOWEST = tl.constexpr(-40.0)


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
def _highest_score(
    columns, h, begin, length, scaled, start,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """The largest score of each row, at least `start`; [B]."""
    highest = start
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        hj = rows_of(h, j, there, WIDTH, D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * inverse_norm(tl.sum(hj * hj, 2))
        highest = tl.maximum(highest, tl.max(tl.where(there, score, float("-inf")), 1))
        j, there = next_j, next_there
    return highest


@triton.jit
def _weighted_sum(
    columns, weights, h, begin, length, scaled, shift,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Sums over the neighbours of some rows [B] of e and of e h_j, e = exp(score - shift)."""
    acc = tl.zeros((scaled.shape[0], U, D), scaled.dtype)
    total = tl.zeros((scaled.shape[0], U), scaled.dtype)
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        hj = rows_of(h, j, there, WIDTH, D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * inverse_norm(tl.sum(hj * hj, 2))
        e = tl.where(there, tl.exp(score - shift[:, None]), 0.0)
        if weights is not None:
            e *= weights_of(weights, begin, k, there, U)
        total += e
        acc += e[:, :, None] * hj
        j, there = next_j, next_there
    return tl.sum(total, 1), tl.sum(acc, 1)


@triton.jit
def _receivers(
    columns, weights, h, beta, i, begin, length, present,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """States of rows i, their own scores, shifts, and sums over the given neighbours."""
    hi = rows_of(h, i, present, WIDTH, D)
    ri = inverse_norm(tl.sum(hi * hi, 1))
    own = tl.where(ri > 0, beta, 0.0)
    scaled = hi * (beta * ri)[:, None]
    shift = tl.where(ri > 0, tl.abs(beta), 0.0)
    if beta < LOWEST:
        shift = _highest_score(columns, h, begin, length, scaled, own, WIDTH, D, U)
    total, acc = _weighted_sum(columns, weights, h, begin, length, scaled, shift, WIDTH, D, U)
    return hi, own, shift, total, acc


@Program
def forward_rows(
    offsets, columns, weights, h, betas, out, logs, n, rows,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica: new states, and the logarithm of each row's sum of exp(score)."""
    wait_for_inputs(EARLY)
    r, i, present, _, begin, length = rows_of_program(offsets, rows, LIMIT, B)
    hi, own, shift, total, acc = _receivers(
        columns, weights, h + r * n * WIDTH, tl.load(betas + r), i, begin, length, present,
        WIDTH, D, U,
    )  # fmt: skip
    e = tl.exp(own - shift)
    total += e
    state = (acc + e[:, None] * hi) / total[:, None]
    d = tl.arange(0, D)
    place = (r * rows + i)[:, None] * WIDTH + d[None, :]
    tl.store(out + place, state, mask=present[:, None] & (d < WIDTH)[None, :])
    tl.store(logs + r * rows + i, shift + tl.log(total), mask=present)


@Program
def forward_segment(
    segment_rows, bounds, columns, weights, h, betas, sums, totals,
    shifts, n, rows, segments,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long row, for `forward_joined`."""
    wait_for_inputs(EARLY)
    r, place, i, begin, length = segment_of_program(segment_rows, bounds, segments)
    present = i < rows
    length = tl.where(present, length, 0)
    _, _, shift, total, acc = _receivers(
        columns, weights, h + r * n * WIDTH, tl.load(betas + r), i, begin, length, present,
        WIDTH, D, U,
    )  # fmt: skip
    d = tl.arange(0, D)
    tl.store(sums + place[:, None] * D + d[None, :], acc)
    tl.store(totals + place, total)
    tl.store(shifts + place, shift)


@Program
def forward_joined(
    long_rows, first, h, betas, sums, totals, shifts, out,
    logs, n, rows, segments, WIDTH: tl.constexpr, D: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One long row of one replica from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, i, begin, end = long_row_of_program(long_rows, first, segments)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    hi = rows_of(h + r * n * WIDTH, i, i < rows, WIDTH, D)
    own = tl.where(tl.sum(hi * hi, 1) > 0, tl.load(betas + r), 0.0)
    shift = own
    for s in range(begin, end):
        shift = tl.maximum(shift, tl.load(shifts + s + one))
    total = tl.exp(own - shift)
    acc = total[:, None] * hi
    for s in range(begin, end):
        part = tl.exp(tl.load(shifts + s + one) - shift)
        total += part * tl.load(totals + s + one)
        acc += part[:, None] * tl.load(sums + (s + one)[:, None] * D + d[None, :])
    place = (r * rows + i)[:, None] * WIDTH + d[None, :]
    present = (i < rows)[:, None] & (d < WIDTH)[None, :]
    tl.store(out + place, acc / total[:, None], mask=present)
    tl.store(logs + r * rows + i, shift + tl.log(total), mask=i < rows)
