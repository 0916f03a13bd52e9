"""The programs of additive attention on a GPU, backward; tiles as in `triton_forward.py`."""

from __future__ import annotations

import triton
import triton.language as tl

from agnn.kernels._additive_attention.triton_forward import SLOPE, leaky, paid_factors, part_of
from agnn.kernels._dropout.triton_cuda import epoch_state
from agnn.kernels._gpu.gather import (
    entries_of,
    heads_of_rows,
    long_row_of_program,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs


@Program
def pairs(
    values, g, out, bias, parts, logs, pair, facts, n, rows,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """What the backward pass reads of a node, B nodes of one replica: (v_i, g_i) in one line.

    And by head, in another, its two shares in a score, its logarithm and g_i . (o_i - b). A row
    that was not computed has no gradient and an infinite logarithm: it attends to nothing.
    """
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i, k = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.arange(0, K)
    computed, own = i < rows, r + tl.arange(0, 1)
    gi = heads_of_rows(g + r * rows * WIDTH, i, computed, WIDTH, F, K)
    oi = heads_of_rows(out + r * rows * WIDTH, i, computed, WIDTH, F, K)
    mean = tl.sum(gi * (oi - heads_of_rows(bias, own, own == r, WIDTH, F, K)), 1)
    inside = (i < n)[:, None] & (k < K)[None, :]
    log = tl.load(
        logs + (r * rows + i)[:, None] * K + k[None, :], mask=computed[:, None] & inside,
        other=float("inf"),
    )  # fmt: skip
    place = ((r * n + i) * 4 * K)[:, None] + k[None, :]
    tl.store(facts + place, part_of(parts + r * n * 2 * K, i, i < n, 0, 2, K), mask=inside)
    tl.store(facts + place + K, part_of(parts + r * n * 2 * K, i, i < n, 1, 2, K), mask=inside)
    tl.store(facts + place + 2 * K, log, mask=inside)
    tl.store(facts + place + 3 * K, mean, mask=inside)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    place = (r * n + i)[:, None, None] * (2 * WIDTH) + column[None, :, :]
    inside = (i < n)[:, None, None] & (column < WIDTH)[None, :, :]
    tl.store(
        pair + place, heads_of_rows(values + r * n * WIDTH, i, i < n, WIDTH, F, K), mask=inside
    )
    tl.store(pair + place + WIDTH, gi, mask=inside)


@triton.jit
def _pairs_of(pair, i, present, WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr):
    """Values and gradients of nodes `i`, of any shape; each [..., F, K]."""
    column = tl.arange(0, F)[:, None] * K + tl.arange(0, K)[None, :]
    places = i.expand_dims(-1).expand_dims(-1) * (2 * WIDTH) + column
    inside = present.expand_dims(-1).expand_dims(-1) & (column < WIDTH)
    v = tl.load(pair + places, mask=inside, other=0.0)
    g = tl.load(pair + places + WIDTH, mask=inside, other=0.0)
    if v.dtype == tl.bfloat16:
        v, g = v.to(tl.float32), g.to(tl.float32)
    return v, g


@triton.jit
def _facts_of(facts, i, present, K: tl.constexpr):
    """Both shares in a score, logarithm and mean of nodes `i`, of any shape; each [..., K]."""
    return (
        part_of(facts, i, present, 0, 4, K),
        part_of(facts, i, present, 1, 4, K),
        part_of(facts, i, present, 2, 4, K),
        part_of(facts, i, present, 3, 4, K),
    )


@triton.jit
def _slope(weight, factor, dot, mean, x):
    """The gradient at the sum x inside a score, its attention being `weight`."""
    slope = weight * (factor * dot - mean)
    return tl.where(x > 0, slope, slope * SLOPE)


@triton.jit
def _sums(
    columns, pair, facts, row_ids, keys, thresholds, scales, r, state, rows, i, present, begin,
    length, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Sums over the neighbours of some rows [B], by head.

    What each pulls as a receiver and what is pushed at it as a sender, for its two shares in the
    scores; and what comes back to its values. An edge between two rows that were not computed
    carries nothing, and its line is not read.
    """
    vi, gi = _pairs_of(pair, i, present, WIDTH, F, K)
    a_i, b_i, log_i, mean_i = _facts_of(facts, i, present, K)
    pull = tl.zeros((i.shape[0], U, K), log_i.dtype)
    push = tl.zeros((i.shape[0], U, K), log_i.dtype)
    valued = tl.zeros((i.shape[0], U, F, K), log_i.dtype)
    label = i
    if DROPPED:
        label = tl.load(row_ids + i, mask=present, other=0)
    computed = (i < rows)[:, None]
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        there = there & (computed | (j < rows))
        vj, gj = _pairs_of(pair, j, there, WIDTH, F, K)
        a_j, b_j, log_j, mean_j = _facts_of(facts, j, there, K)
        x, y = a_i[:, None, :] + b_j, a_j + b_i[:, None, :]
        pays = tl.exp(tl.where(there[:, :, None], leaky(x) - log_i[:, None, :], float("-inf")))
        gets = tl.exp(tl.where(there[:, :, None], leaky(y) - log_j, float("-inf")))
        paid, got = tl.full(x.shape, 1.0, x.dtype), tl.full(x.shape, 1.0, x.dtype)
        if DROPPED:
            other = tl.load(row_ids + j, mask=there, other=0)
            mine = label[:, None]
            paid = paid_factors(keys, thresholds, scales, r, state, mine, other, K).to(x.dtype)
            got = paid_factors(keys, thresholds, scales, r, state, other, mine, K).to(x.dtype)
        pull += _slope(pays, paid, tl.sum(gi[:, None, :, :] * vj, 2), mean_i[:, None, :], x)
        push += _slope(gets, got, tl.sum(gj * vi[:, None, :, :], 2), mean_j, y)
        valued += (gets * got)[:, :, None, :] * gj
        j, there = next_j, next_there
    return tl.sum(pull, 1), tl.sum(push, 1), tl.sum(valued, 1)


@triton.jit
def _store_gradients(
    pair, facts, row_ids, keys, thresholds, scales, r, state, i, present, n, stored,
    pull, push, valued, dv, pulls, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """The gradients at rows i of the values and at their shares, the nodes themselves added."""
    vi, gi = _pairs_of(pair, i, present, WIDTH, F, K)
    a_i, b_i, log_i, mean_i = _facts_of(facts, i, present, K)
    x = a_i + b_i
    weight = tl.exp(leaky(x) - log_i)
    factor = tl.full(x.shape, 1.0, x.dtype)
    if DROPPED:
        label = tl.load(row_ids + i, mask=present, other=0)
        factor = paid_factors(keys, thresholds, scales, r, state, label, label, K).to(x.dtype)
    own = _slope(weight, factor, tl.sum(gi * vi, 1), mean_i, x)
    k = tl.arange(0, K)
    place = ((r * n + i) * 2 * K)[:, None] + k[None, :]
    inside = stored[:, None] & (k < K)[None, :]
    tl.store(pulls + place, pull + own, mask=inside)
    tl.store(pulls + place + K, push + own, mask=inside)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    place = (r * n + i)[:, None, None] * WIDTH + column[None, :, :]
    tl.store(
        dv + place, valued + (weight * factor)[:, None, :] * gi,
        mask=stored[:, None, None] & (column < WIDTH)[None, :, :],
    )  # fmt: skip


@Program
def backward_rows(
    offsets, columns, pair, facts, row_ids, keys, thresholds, scales, epoch, dv, pulls,
    n, reached, rows, LIMIT: tl.constexpr, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """The gradients at B rows of the values of one replica, and at their shares in the scores.

    Rows from `reached` on have no part in the output: their gradient is zero.
    """
    wait_for_inputs(EARLY)
    r, i, present, short, begin, length = rows_of_program(offsets, reached, LIMIT, B)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    pair += r * n * 2 * WIDTH
    facts += r * n * 4 * K
    pull, push, valued = _sums(
        columns, pair, facts, row_ids, keys, thresholds, scales, r, state, rows, i, present,
        begin, length, DROPPED, WIDTH, F, K, U,
    )  # fmt: skip
    _store_gradients(
        pair, facts, row_ids, keys, thresholds, scales, r, state, i, present, n, (i < n) & short,
        pull, push, valued, dv, pulls, DROPPED, WIDTH, F, K,
    )  # fmt: skip


@Program
def backward_segment(
    segment_rows, bounds, columns, pair, facts, row_ids, keys, thresholds, scales, epoch,
    shares, sums, n, rows, segments, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long row, for `backward_joined`."""
    wait_for_inputs(EARLY)
    r, place, i, begin, length = segment_of_program(segment_rows, bounds, segments)
    k = tl.arange(0, K)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    pull, push, valued = _sums(
        columns, pair + r * n * 2 * WIDTH, facts + r * n * 4 * K, row_ids, keys, thresholds,
        scales, r, state, rows, i, i < n, begin, length, DROPPED, WIDTH, F, K, U,
    )  # fmt: skip
    tl.store(shares + (place * 2 * K)[:, None] + k[None, :], pull)
    tl.store(shares + (place * 2 * K)[:, None] + k[None, :] + K, push)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    tl.store(sums + place[:, None, None] * (F * K) + column[None, :, :], valued)


@Program
def backward_joined(
    long_rows, first, pair, facts, row_ids, keys, thresholds, scales, epoch, shares, sums, dv,
    pulls, n, segments, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The gradients at one long row from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, i, begin, end = long_row_of_program(long_rows, first, segments)
    one, k = tl.arange(0, 1), tl.arange(0, K)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    pull = tl.zeros((1, K), facts.dtype.element_ty)
    push = tl.zeros((1, K), facts.dtype.element_ty)
    valued = tl.zeros((1, F, K), facts.dtype.element_ty)
    for s in range(begin, end):
        place = ((s + one) * 2 * K)[:, None] + k[None, :]
        pull += tl.load(shares + place)
        push += tl.load(shares + place + K)
        valued += tl.load(sums + (s + one)[:, None, None] * (F * K) + column[None, :, :])
    _store_gradients(
        pair + r * n * 2 * WIDTH, facts + r * n * 4 * K, row_ids, keys, thresholds, scales, r,
        state, i, i < n, n, i < n, pull, push, valued, dv, pulls, DROPPED, WIDTH, F, K,
    )  # fmt: skip


@Program
def share_gradients(
    h, receiving, sending, pulls, dv, dh, parts, n, chunks,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, CHUNK: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """What the shares in the scores pass on: to CHUNK rows of h, and to the two vectors."""
    wait_for_inputs(EARLY)
    chunk, r = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    own, k = r + tl.arange(0, 1), tl.arange(0, K)
    a = heads_of_rows(receiving, own, own == r, WIDTH, F, K)
    b = heads_of_rows(sending, own, own == r, WIDTH, F, K)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    da, db = tl.zeros((F, K), pulls.dtype.element_ty), tl.zeros((F, K), pulls.dtype.element_ty)
    for step in range(0, tl.minimum(CHUNK, n - chunk * CHUNK), B):
        i = chunk * CHUNK + step + tl.arange(0, B)
        hi = heads_of_rows(h + r * n * WIDTH, i, i < n, WIDTH, F, K)
        pull = part_of(pulls + r * n * 2 * K, i, i < n, 0, 2, K)[:, None, :]
        push = part_of(pulls + r * n * 2 * K, i, i < n, 1, 2, K)[:, None, :]
        slopes = heads_of_rows(dv + r * n * WIDTH, i, i < n, WIDTH, F, K) + pull * a + push * b
        place = (r * n + i)[:, None, None] * WIDTH + column[None, :, :]
        tl.store(dh + place, slopes, mask=(i < n)[:, None, None] & (column < WIDTH)[None, :, :])
        da += tl.sum(pull * hi, 0)
        db += tl.sum(push * hi, 0)
    place = (r * chunks + chunk) * 2 * WIDTH + column
    tl.store(parts + place, da, mask=column < WIDTH)
    tl.store(parts + place + WIDTH, db, mask=column < WIDTH)
