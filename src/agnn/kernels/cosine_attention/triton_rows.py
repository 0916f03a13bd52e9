"""The programs of cosine attention on a GPU: rows of the forward and of the backward pass.

A program holds a tile of some rows and some neighbours of each, and adds up in that tile; only at
the end of its rows it sums over the neighbours. The labels of the next neighbours are read while
the states of the present ones are on their way. A cosine is at most 1, so the exponentials are
shifted by |beta| and partial sums of a split row simply add up. Only below `LOWEST`, where a whole
row could underflow, a first pass finds the largest score.
"""

from __future__ import annotations

import triton
import triton.language as tl

from agnn.kernels.triton_gather import bounds_of, entries_of, rows_of

LOWEST = tl.constexpr(-40.0)


@triton.jit
def _inverse_norm(square):
    """1 / |h|, and 0 for a zero row: its cosine with every row is 0."""
    positive = square > 0
    return tl.where(positive, tl.rsqrt(tl.where(positive, square, 1.0)), 0.0)


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
        score = tl.sum(scaled[:, None, :] * hj, 2) * _inverse_norm(tl.sum(hj * hj, 2))
        highest = tl.maximum(highest, tl.max(tl.where(there, score, float("-inf")), 1))
        j, there = next_j, next_there
    return highest


@triton.jit
def _weighted_sum(
    columns, h, begin, length, scaled, shift,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Sums over the neighbours of some rows [B] of e and of e h_j, e = exp(score - shift)."""
    acc = tl.zeros((scaled.shape[0], U, D), scaled.dtype)
    total = tl.zeros((scaled.shape[0], U), scaled.dtype)
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        hj = rows_of(h, j, there, WIDTH, D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * _inverse_norm(tl.sum(hj * hj, 2))
        e = tl.where(there, tl.exp(score - shift[:, None]), 0.0)
        total += e
        acc += e[:, :, None] * hj
        j, there = next_j, next_there
    return tl.sum(total, 1), tl.sum(acc, 1)


@triton.jit
def _receivers(
    columns, h, beta, i, begin, length, present,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """States of rows i, their own scores, shifts, and sums over the given neighbours."""
    hi = rows_of(h, i, present, WIDTH, D)
    ri = _inverse_norm(tl.sum(hi * hi, 1))
    own = tl.where(ri > 0, beta, 0.0)
    scaled = hi * (beta * ri)[:, None]
    shift = tl.where(ri > 0, tl.abs(beta), 0.0)
    if beta < LOWEST:
        shift = _highest_score(columns, h, begin, length, scaled, own, WIDTH, D, U)
    total, acc = _weighted_sum(columns, h, begin, length, scaled, shift, WIDTH, D, U)
    return hi, own, shift, total, acc


@triton.jit
def forward_rows(
    offsets, columns, h, betas, out, logs, n, rows,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """B rows of one replica: new states, and the logarithm of each row's sum of exp(score)."""
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    present = i < rows
    begin, length = bounds_of(offsets, i, present)
    present = present & (length <= LIMIT)  # longer rows are summed by segments
    length = tl.where(present, length, 0)
    hi, own, shift, total, acc = _receivers(
        columns, h + r * n * WIDTH, tl.load(betas + r), i, begin, length, present, WIDTH, D, U
    )
    e = tl.exp(own - shift)
    total += e
    state = (acc + e[:, None] * hi) / total[:, None]
    d = tl.arange(0, D)
    place = (r * rows + i)[:, None] * WIDTH + d[None, :]
    tl.store(out + place, state, mask=present[:, None] & (d < WIDTH)[None, :])
    tl.store(logs + r * rows + i, shift + tl.log(total), mask=present)


@triton.jit
def forward_segment(
    segment_rows, bounds, columns, h, betas, sums, totals,
    shifts, n, rows, segments,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long row, for `forward_joined`."""
    s, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one = tl.arange(0, 1)
    i = tl.load(segment_rows + s + one)
    begin = tl.load(bounds + s + one)
    present = i < rows
    length = (tl.load(bounds + segments + s + one) - begin).to(tl.int32)
    length = tl.where(present, length, 0)
    _, _, shift, total, acc = _receivers(
        columns, h + r * n * WIDTH, tl.load(betas + r), i, begin, length, present, WIDTH, D, U
    )
    place = r * segments + s + one
    d = tl.arange(0, D)
    tl.store(sums + place[:, None] * D + d[None, :], acc)
    tl.store(totals + place, total)
    tl.store(shifts + place, shift)


@triton.jit
def forward_joined(
    long_rows, first, h, betas, sums, totals, shifts, out,
    logs, n, rows, segments, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """One long row of one replica from the sums of its segments, in their order."""
    k, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    i = tl.load(long_rows + k + one)
    hi = rows_of(h + r * n * WIDTH, i, i < rows, WIDTH, D)
    own = tl.where(tl.sum(hi * hi, 1) > 0, tl.load(betas + r), 0.0)
    begin, end = r * segments + tl.load(first + k), r * segments + tl.load(first + k + 1)
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


@triton.jit
def pairs(
    h, g, out, logs, pair, facts, n, rows,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """What the backward pass reads of a node, B nodes of one replica: (h_i, g_i) in one line.

    And of each the logarithm and g_i . o_i. A row that was not computed has no gradient and an
    infinite logarithm, which makes its attention zero.
    """
    r = tl.program_id(1).to(tl.int64)
    i, d = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.arange(0, D)
    computed = i < rows
    hi = rows_of(h + r * n * WIDTH, i, i < n, WIDTH, D)
    gi = rows_of(g + r * rows * WIDTH, i, computed, WIDTH, D)
    oi = rows_of(out + r * rows * WIDTH, i, computed, WIDTH, D)
    log = tl.load(logs + r * rows + i, mask=computed, other=float("inf"))
    place = (r * n + i)[:, None] * (2 * WIDTH) + d[None, :]
    inside = (i < n)[:, None] & (d < WIDTH)[None, :]
    tl.store(pair + place, hi, mask=inside)
    tl.store(pair + place + WIDTH, gi, mask=inside)
    tl.store(facts + 2 * (r * n + i), log, mask=i < n)
    tl.store(facts + 2 * (r * n + i) + 1, tl.sum(gi * oi, 1), mask=i < n)


@triton.jit
def _pairs_of(pair, facts, i, present, WIDTH: tl.constexpr, D: tl.constexpr):
    """h, g, logarithm and slope of nodes `i`, of any shape."""
    d = tl.arange(0, D)
    places = i.expand_dims(-1) * (2 * WIDTH) + d
    inside = present.expand_dims(-1) & (d < WIDTH)
    h = tl.load(pair + places, mask=inside, other=0.0)
    g = tl.load(pair + places + WIDTH, mask=inside, other=0.0)
    log = tl.load(facts + 2 * i, mask=present, other=float("inf"))
    slope = tl.load(facts + 2 * i + 1, mask=present, other=0.0)
    return h.to(log.dtype), g.to(log.dtype), log, slope


@triton.jit
def _turns(
    columns, pair, facts, beta, rows, i, begin, length, hi, ri, gi, log_i, slope_i,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Sums over the neighbours of some rows [B].

    For the gradient at h: what turns u_i (`turned`, times u_j) and what i gave (`valued`, times
    g_j); and the rows' part of the gradient at beta. An edge between two rows that were not
    computed carries nothing, and its line is not read.
    """
    computed = (i < rows)[:, None]
    turned = tl.zeros((hi.shape[0], U, D), hi.dtype)
    valued = tl.zeros((hi.shape[0], U, D), hi.dtype)
    of_beta = tl.zeros((hi.shape[0], U), hi.dtype)
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        there = there & (computed | (j < rows))
        hj, gj, log_j, slope_j = _pairs_of(pair, facts, j, there, WIDTH, D)
        rj = _inverse_norm(tl.sum(hj * hj, 2))
        cosine = tl.sum(hi[:, None, :] * hj, 2) * rj * ri[:, None]
        score = tl.where(there, beta * cosine, float("-inf"))
        taken, given = tl.exp(score - log_i[:, None]), tl.exp(score - log_j)
        pulled = taken * (tl.sum(gi[:, None, :] * hj, 2) - slope_i[:, None])
        pushed = given * (tl.sum(gj * hi[:, None, :], 2) - slope_j)
        of_beta += pulled * cosine
        turned += ((pulled + pushed) * rj)[:, :, None] * hj
        valued += given[:, :, None] * gj
        j, there = next_j, next_there
    return tl.sum(turned, 1), tl.sum(valued, 1), tl.sum(of_beta, 1)


@triton.jit
def _own_parts(
    hi, ri, gi, log_i, slope_i, beta, turned, valued
):  # fmt: skip
    """The gradient at rows i with the self-loops added, and the self-loops' part at beta."""
    ui = hi * ri[:, None]
    cosine = tl.where(ri > 0, 1.0, 0.0)
    own = tl.exp(beta * cosine - log_i)
    along = tl.sum(turned * ui, 1)
    across = turned - along[:, None] * ui
    dh = valued + own[:, None] * gi + (beta * ri)[:, None] * across
    return dh, own * (tl.sum(gi * hi, 1) - slope_i) * cosine


@triton.jit
def backward_rows(
    offsets, columns, pair, facts, betas, dh, parts, n, reached, rows, part_count,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """The gradient at B rows of h of one replica, and their part of the gradient at beta.

    Rows from `reached` on have no part in the output: their gradient is zero.
    """
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    present = i < reached
    begin, length = bounds_of(offsets, i, present)
    short = length <= LIMIT  # longer rows are summed by segments
    present = present & short
    length = tl.where(present, length, 0)
    pair += r * n * 2 * WIDTH
    facts += r * n * 2
    beta = tl.load(betas + r)
    hi, gi, log_i, slope_i = _pairs_of(pair, facts, i, present, WIDTH, D)
    ri = _inverse_norm(tl.sum(hi * hi, 1))
    turned, valued, of_beta = _turns(
        columns, pair, facts, beta, rows, i, begin, length, hi, ri, gi, log_i, slope_i,
        WIDTH, D, U,
    )  # fmt: skip
    gradient, own = _own_parts(hi, ri, gi, log_i, slope_i, beta, turned, valued)
    d = tl.arange(0, D)
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(dh + place, gradient, mask=((i < n) & short)[:, None] & (d < WIDTH)[None, :])
    tl.store(parts + r * part_count + tl.program_id(0), tl.sum(of_beta + own, 0))


@triton.jit
def backward_segment(
    segment_rows, bounds, columns, pair, facts, betas, turns, values, of_betas, n, rows,
    segments,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long row, for `backward_joined`."""
    s, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    i = tl.load(segment_rows + s + one)
    begin = tl.load(bounds + s + one)
    length = (tl.load(bounds + segments + s + one) - begin).to(tl.int32)
    pair += r * n * 2 * WIDTH
    facts += r * n * 2
    hi, gi, log_i, slope_i = _pairs_of(pair, facts, i, i < n, WIDTH, D)
    ri = _inverse_norm(tl.sum(hi * hi, 1))
    turned, valued, of_beta = _turns(
        columns, pair, facts, tl.load(betas + r), rows, i, begin, length, hi, ri, gi, log_i,
        slope_i, WIDTH, D, U,
    )  # fmt: skip
    place = r * segments + s + one
    tl.store(turns + place[:, None] * D + d[None, :], turned)
    tl.store(values + place[:, None] * D + d[None, :], valued)
    tl.store(of_betas + place, of_beta)


@triton.jit
def backward_joined(
    long_rows, first, pair, facts, betas, turns, values, of_betas, dh, parts, n, segments,
    part_count, programs, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """The gradient at one long row from the sums of its segments, in their order."""
    k, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    i = tl.load(long_rows + k + one)
    hi, gi, log_i, slope_i = _pairs_of(
        pair + r * n * 2 * WIDTH, facts + r * n * 2, i, i < n, WIDTH, D
    )
    ri = _inverse_norm(tl.sum(hi * hi, 1))
    turned, valued, of_beta = tl.zeros_like(hi), tl.zeros_like(hi), tl.zeros_like(ri)
    for s in range(r * segments + tl.load(first + k), r * segments + tl.load(first + k + 1)):
        place = (s + one)[:, None] * D + d[None, :]
        turned += tl.load(turns + place)
        valued += tl.load(values + place)
        of_beta += tl.load(of_betas + s + one)
    gradient, own = _own_parts(hi, ri, gi, log_i, slope_i, tl.load(betas + r), turned, valued)
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(dh + place, gradient, mask=(d < WIDTH)[None, :])
    tl.store(parts + r * part_count + programs + k + one, of_beta + own)
