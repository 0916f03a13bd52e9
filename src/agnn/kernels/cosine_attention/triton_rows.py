"""The programs of cosine attention on a GPU: rows of the forward and of the backward pass.

A program holds a tile of some rows and some neighbours of each, and adds up in that tile; only at
the end of its rows it sums over the neighbours. A cosine is at most 1, so the exponentials are
shifted by |beta| and partial sums of a split row simply add up. Only below `LOWEST`, where a whole
row could underflow, a first pass finds the largest score.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from agnn.kernels.triton_gather import bounds_of, entries_of, rows_of

LOWEST = tl.constexpr(-40.0)


@triton.jit
def _inverse_norm(square: Any) -> Any:
    """1 / |h|, and 0 for a zero row: its cosine with every row is 0."""
    positive = square > 0
    return tl.where(positive, tl.rsqrt(tl.where(positive, square, 1.0)), 0.0)


@triton.jit
def _highest_score(
    columns: Any, h: Any, begin: Any, length: Any, scaled: Any, start: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
) -> Any:  # fmt: skip
    """The largest score of each row, at least `start`; [B]."""
    highest = start
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        hj = rows_of(h, j, there, WIDTH, D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * _inverse_norm(tl.sum(hj * hj, 2))
        highest = tl.maximum(highest, tl.max(tl.where(there, score, float("-inf")), 1))
    return highest


@triton.jit
def _weighted_sum(
    columns: Any, h: Any, begin: Any, length: Any, scaled: Any, shift: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
) -> Any:  # fmt: skip
    """Sums over the neighbours of some rows [B] of e and of e h_j, e = exp(score - shift)."""
    acc = tl.zeros((scaled.shape[0], U, D), scaled.dtype)
    total = tl.zeros((scaled.shape[0], U), scaled.dtype)
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        hj = rows_of(h, j, there, WIDTH, D)
        score = tl.sum(scaled[:, None, :] * hj, 2) * _inverse_norm(tl.sum(hj * hj, 2))
        e = tl.where(there, tl.exp(score - shift[:, None]), 0.0)
        total += e
        acc += e[:, :, None] * hj
    return tl.sum(total, 1), tl.sum(acc, 1)


@triton.jit
def _receivers(
    columns: Any, h: Any, beta: Any, i: Any, begin: Any, length: Any, present: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
) -> Any:  # fmt: skip
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
    offsets: Any, columns: Any, h: Any, betas: Any, out: Any, logs: Any, n: Any, rows: Any,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
) -> None:  # fmt: skip
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
    segment_rows: Any, bounds: Any, columns: Any, h: Any, betas: Any, sums: Any, totals: Any,
    shifts: Any, n: Any, rows: Any, segments: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
) -> None:  # fmt: skip
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
    long_rows: Any, first: Any, h: Any, betas: Any, sums: Any, totals: Any, shifts: Any, out: Any,
    logs: Any, n: Any, rows: Any, segments: Any, WIDTH: tl.constexpr, D: tl.constexpr,
) -> None:  # fmt: skip
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
def slopes(
    gradient: Any, out: Any, found: Any, count: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr,
) -> None:  # fmt: skip
    """g_i . o_i of B rows."""
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    g = rows_of(gradient, i, i < count, WIDTH, D)
    o = rows_of(out, i, i < count, WIDTH, D)
    tl.store(found + i, tl.sum(g * o, 1), mask=i < count)


@triton.jit
def _turns(
    columns: Any, h: Any, g: Any, logs: Any, slope: Any, beta: Any, rows: Any, begin: Any,
    length: Any, hi: Any, ri: Any, gi: Any, log_i: Any, slope_i: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
) -> Any:  # fmt: skip
    """Sums over the neighbours of some rows [B].

    For the gradient at h: what turns u_i (`turned`, times u_j) and what i gave (`valued`, times
    g_j); and the rows' part of the gradient at beta.
    """
    turned = tl.zeros((hi.shape[0], U, D), hi.dtype)
    valued = tl.zeros((hi.shape[0], U, D), hi.dtype)
    of_beta = tl.zeros((hi.shape[0], U), hi.dtype)
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        computed = there & (j < rows)
        hj = rows_of(h, j, there, WIDTH, D)
        gj = rows_of(g, j, computed, WIDTH, D)
        log_j = tl.load(logs + j, mask=computed, other=float("inf"))
        slope_j = tl.load(slope + j, mask=computed, other=0.0)
        rj = _inverse_norm(tl.sum(hj * hj, 2))
        cosine = tl.sum(hi[:, None, :] * hj, 2) * rj * ri[:, None]
        score = tl.where(there, beta * cosine, float("-inf"))
        taken, given = tl.exp(score - log_i[:, None]), tl.exp(score - log_j)
        pulled = taken * (tl.sum(gi[:, None, :] * hj, 2) - slope_i[:, None])
        pushed = given * (tl.sum(gj * hi[:, None, :], 2) - slope_j)
        of_beta += pulled * cosine
        turned += ((pulled + pushed) * rj)[:, :, None] * hj
        valued += given[:, :, None] * gj
    return tl.sum(turned, 1), tl.sum(valued, 1), tl.sum(of_beta, 1)


@triton.jit
def _own_facts(
    h: Any, g: Any, logs: Any, slope: Any, i: Any, present: Any, rows: Any,
    WIDTH: tl.constexpr, D: tl.constexpr,
) -> Any:  # fmt: skip
    """State, inverse norm, gradient, logarithm and slope of rows i; a row beyond `rows` has none."""
    computed = present & (i < rows)
    hi = rows_of(h, i, present, WIDTH, D)
    gi = rows_of(g, i, computed, WIDTH, D)
    log_i = tl.load(logs + i, mask=computed, other=float("inf"))
    slope_i = tl.load(slope + i, mask=computed, other=0.0)
    return hi, _inverse_norm(tl.sum(hi * hi, 1)), gi, log_i, slope_i


@triton.jit
def _own_parts(
    hi: Any, ri: Any, gi: Any, log_i: Any, slope_i: Any, beta: Any, turned: Any, valued: Any
) -> Any:  # fmt: skip
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
    offsets: Any, columns: Any, h: Any, g: Any, logs: Any, slope: Any, betas: Any, dh: Any,
    parts: Any, n: Any, reached: Any, rows: Any, part_count: Any,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
) -> None:  # fmt: skip
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
    h += r * n * WIDTH
    g += r * rows * WIDTH
    logs += r * rows
    slope += r * rows
    beta = tl.load(betas + r)
    hi, ri, gi, log_i, slope_i = _own_facts(h, g, logs, slope, i, present, rows, WIDTH, D)
    turned, valued, of_beta = _turns(
        columns, h, g, logs, slope, beta, rows, begin, length, hi, ri, gi, log_i, slope_i,
        WIDTH, D, U,
    )  # fmt: skip
    gradient, own = _own_parts(hi, ri, gi, log_i, slope_i, beta, turned, valued)
    d = tl.arange(0, D)
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(dh + place, gradient, mask=((i < n) & short)[:, None] & (d < WIDTH)[None, :])
    tl.store(parts + r * part_count + tl.program_id(0), tl.sum(of_beta + own, 0))


@triton.jit
def backward_segment(
    segment_rows: Any, bounds: Any, columns: Any, h: Any, g: Any, logs: Any, slope: Any,
    betas: Any, turns: Any, values: Any, of_betas: Any, n: Any, rows: Any, segments: Any,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
) -> None:  # fmt: skip
    """The sums of one segment of a long row, for `backward_joined`."""
    s, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one = tl.arange(0, 1)
    i = tl.load(segment_rows + s + one)
    begin = tl.load(bounds + s + one)
    length = (tl.load(bounds + segments + s + one) - begin).to(tl.int32)
    h += r * n * WIDTH
    g += r * rows * WIDTH
    logs += r * rows
    slope += r * rows
    hi, ri, gi, log_i, slope_i = _own_facts(h, g, logs, slope, i, i < n, rows, WIDTH, D)
    turned, valued, of_beta = _turns(
        columns, h, g, logs, slope, tl.load(betas + r), rows, begin, length, hi, ri, gi, log_i,
        slope_i, WIDTH, D, U,
    )  # fmt: skip
    place = r * segments + s + one
    d = tl.arange(0, D)
    tl.store(turns + place[:, None] * D + d[None, :], turned)
    tl.store(values + place[:, None] * D + d[None, :], valued)
    tl.store(of_betas + place, of_beta)


@triton.jit
def backward_joined(
    long_rows: Any, first: Any, h: Any, g: Any, logs: Any, slope: Any, betas: Any, turns: Any,
    values: Any, of_betas: Any, dh: Any, parts: Any, n: Any, rows: Any, segments: Any,
    part_count: Any, programs: Any, WIDTH: tl.constexpr, D: tl.constexpr,
) -> None:  # fmt: skip
    """The gradient at one long row from the sums of its segments, in their order."""
    k, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    i = tl.load(long_rows + k + one)
    hi, ri, gi, log_i, slope_i = _own_facts(
        h + r * n * WIDTH, g + r * rows * WIDTH, logs + r * rows, slope + r * rows,
        i, i < n, rows, WIDTH, D,
    )  # fmt: skip
    turned, valued, of_beta = tl.zeros_like(hi), tl.zeros_like(hi), tl.zeros_like(ri)
    for s in range(r * segments + tl.load(first + k), r * segments + tl.load(first + k + 1)):
        place = (s + one)[:, None] * D + d[None, :]
        turned += tl.load(turns + place)
        valued += tl.load(values + place)
        of_beta += tl.load(of_betas + s + one)
    gradient, own = _own_parts(
        hi, ri, gi, log_i, slope_i, tl.load(betas + r), turned, valued
    )
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(dh + place, gradient, mask=(d < WIDTH)[None, :])
    tl.store(parts + r * part_count + programs + k + one, of_beta + own)
