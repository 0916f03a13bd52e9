"""The programs of cosine attention on a GPU, backward; tiles as in `triton_forward.py`."""

from __future__ import annotations

import triton
import triton.language as tl

from agnn.kernels._cosine_attention.triton_forward import inverse_norm, weights_of
from agnn.kernels._gpu.gather import (
    entries_of,
    long_row_of_program,
    rows_of,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs


@Program
def pairs(
    h, g, out, logs, pair, facts, n, rows,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """What the backward pass reads of a node, B nodes of one replica: (h_i, g_i) in one line.

    And of each the logarithm and g_i . o_i. A row that was not computed has no gradient and an
    infinite logarithm, which makes its attention zero.
    """
    wait_for_inputs(EARLY)
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
    columns, weights, pair, facts, beta, rows, i, begin, length, hi, ri, gi, log_i, slope_i,
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
        rj = inverse_norm(tl.sum(hj * hj, 2))
        cosine = tl.sum(hi[:, None, :] * hj, 2) * rj * ri[:, None]
        score = tl.where(there, beta * cosine, float("-inf"))
        taken, given = tl.exp(score - log_i[:, None]), tl.exp(score - log_j)
        if weights is not None:
            w = weights_of(weights, begin, k, there, U)
            taken, given = taken * w, given * w
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


@Program
def backward_rows(
    offsets, columns, weights, pair, facts, betas, dh, parts, n, reached, rows, part_count,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """The gradient at B rows of h of one replica, and their part of the gradient at beta.

    Rows from `reached` on have no part in the output: their gradient is zero.
    """
    wait_for_inputs(EARLY)
    r, i, present, short, begin, length = rows_of_program(offsets, reached, LIMIT, B)
    pair += r * n * 2 * WIDTH
    facts += r * n * 2
    beta = tl.load(betas + r)
    hi, gi, log_i, slope_i = _pairs_of(pair, facts, i, present, WIDTH, D)
    ri = inverse_norm(tl.sum(hi * hi, 1))
    turned, valued, of_beta = _turns(
        columns, weights, pair, facts, beta, rows, i, begin, length, hi, ri, gi, log_i, slope_i,
        WIDTH, D, U,
    )  # fmt: skip
    gradient, own = _own_parts(hi, ri, gi, log_i, slope_i, beta, turned, valued)
    d = tl.arange(0, D)
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(dh + place, gradient, mask=((i < n) & short)[:, None] & (d < WIDTH)[None, :])
    tl.store(parts + r * part_count + tl.program_id(0), tl.sum(of_beta + own, 0))


@Program
def backward_segment(
    segment_rows, bounds, columns, weights, pair, facts, betas, turns, values, of_betas, n, rows,
    segments,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long row, for `backward_joined`."""
    wait_for_inputs(EARLY)
    r, place, i, begin, length = segment_of_program(segment_rows, bounds, segments)
    d = tl.arange(0, D)
    pair += r * n * 2 * WIDTH
    facts += r * n * 2
    hi, gi, log_i, slope_i = _pairs_of(pair, facts, i, i < n, WIDTH, D)
    ri = inverse_norm(tl.sum(hi * hi, 1))
    turned, valued, of_beta = _turns(
        columns, weights, pair, facts, tl.load(betas + r), rows, i, begin, length, hi, ri, gi,
        log_i, slope_i, WIDTH, D, U,
    )  # fmt: skip
    tl.store(turns + place[:, None] * D + d[None, :], turned)
    tl.store(values + place[:, None] * D + d[None, :], valued)
    tl.store(of_betas + place, of_beta)


@Program
def backward_joined(
    long_rows, first, pair, facts, betas, turns, values, of_betas, dh, parts, n, segments,
    part_count, programs, WIDTH: tl.constexpr, D: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The gradient at one long row from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, i, begin, end = long_row_of_program(long_rows, first, segments)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    hi, gi, log_i, slope_i = _pairs_of(
        pair + r * n * 2 * WIDTH, facts + r * n * 2, i, i < n, WIDTH, D
    )
    ri = inverse_norm(tl.sum(hi * hi, 1))
    turned, valued, of_beta = tl.zeros_like(hi), tl.zeros_like(hi), tl.zeros_like(ri)
    for s in range(begin, end):
        place = (s + one)[:, None] * D + d[None, :]
        turned += tl.load(turns + place)
        valued += tl.load(values + place)
        of_beta += tl.load(of_betas + s + one)
    gradient, own = _own_parts(hi, ri, gi, log_i, slope_i, tl.load(betas + r), turned, valued)
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(dh + place, gradient, mask=(d < WIDTH)[None, :])
    tl.store(parts + r * part_count + programs + tl.program_id(0) + one, of_beta + own)
