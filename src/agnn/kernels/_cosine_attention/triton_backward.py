"""Cosine attention on a GPU, backward; tiles as in `triton_forward.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._cosine_attention.triton_forward import inverse_norm, weights_of
from agnn.kernels._gpu.launches import Kernel, wait_for_inputs
from agnn.kernels._gpu.rows import Operation, entries_of, part_like, rows_of, store_rows


class Pairs(NamedTuple):
    """What the backward pass reads of the nodes."""

    pair: Tensor  # [R, n, 2 d]: h_i and g_i in one line
    facts: Tensor  # [R, n, 2]: the logarithm of the row's sum, and g_i . o_i
    n: int
    rows: int  # that were computed


class Given(NamedTuple):
    """What `pair_states` makes the pairs of."""

    h: Tensor  # [R, n, d]
    gradient: Tensor  # [R, rows, d]
    out: Tensor  # [R, rows, d]
    logs: Tensor  # [R, rows]


class Backward(NamedTuple):
    """The operands."""

    nodes: Pairs
    betas: Tensor  # [R]
    dh: Tensor  # [R, n, d]
    of_beta: Tensor  # [R, parts]: the gradients at beta of the blocks, then of the long rows
    parts: int
    blocks: int


class _Known(NamedTuple):
    """Of one replica the pairs, facts and beta, and of the rows what stands there."""

    pair: Any
    facts: Any
    beta: Any
    h: Any
    g: Any
    log: Any
    slope: Any
    inverse: Any  # 1 / |h|


@Kernel
def pair_states(given, nodes, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """What the backward pass reads of a node, B nodes of one replica: (h_i, g_i) in one line.

    And of each the logarithm and g_i . o_i. A row that was not computed has no gradient and an
    infinite logarithm, which makes its attention zero.
    """
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    d = tl.arange(0, SHAPE.D)
    present = i < nodes.n
    computed = i < nodes.rows
    before = r * nodes.rows
    hi = rows_of(given.h + r * nodes.n * SHAPE.WIDTH, i, present, SHAPE.WIDTH, SHAPE.D)
    gi = rows_of(given.gradient + before * SHAPE.WIDTH, i, computed, SHAPE.WIDTH, SHAPE.D)
    oi = rows_of(given.out + before * SHAPE.WIDTH, i, computed, SHAPE.WIDTH, SHAPE.D)
    log = tl.load(given.logs + before + i, mask=computed, other=float("inf"))
    place = (r * nodes.n + i)[:, None] * (2 * SHAPE.WIDTH) + d[None, :]
    inside = present[:, None] & (d < SHAPE.WIDTH)[None, :]
    tl.store(nodes.pair + place, hi, mask=inside)
    tl.store(nodes.pair + place + SHAPE.WIDTH, gi, mask=inside)
    tl.store(nodes.facts + 2 * (r * nodes.n + i), log, mask=present)
    tl.store(nodes.facts + 2 * (r * nodes.n + i) + 1, tl.sum(gi * oi, 1), mask=present)


@triton.jit
def _pairs_of(pair, facts, i, present, SHAPE: tl.constexpr):
    """h, g, logarithm and slope of nodes `i`, of any shape."""
    d = tl.arange(0, SHAPE.D)
    places = i.expand_dims(-1) * (2 * SHAPE.WIDTH) + d
    inside = present.expand_dims(-1) & (d < SHAPE.WIDTH)
    h = tl.load(pair + places, mask=inside, other=0.0)
    g = tl.load(pair + places + SHAPE.WIDTH, mask=inside, other=0.0)
    log = tl.load(facts + 2 * i, mask=present, other=float("inf"))
    slope = tl.load(facts + 2 * i + 1, mask=present, other=0.0)
    return h.to(log.dtype), g.to(log.dtype), log, slope


@triton.jit
def _read(x, rows, SHAPE: tl.constexpr):
    pair = x.nodes.pair + rows.r * x.nodes.n * 2 * SHAPE.WIDTH
    facts = x.nodes.facts + rows.r * x.nodes.n * 2
    h, g, log, slope = _pairs_of(pair, facts, rows.i, rows.present, SHAPE)
    inverse = inverse_norm(tl.sum(h * h, 1))
    return _Known(pair, facts, tl.load(x.betas + rows.r), h, g, log, slope, inverse)


@triton.jit
def _gather(csr, x, rows, known, SHAPE: tl.constexpr, U: tl.constexpr):
    """Sums over the neighbours of some rows [B].

    For the gradient at h: what turns u_i (`turned`, times u_j) and what i gave (`valued`, times
    g_j); and the rows' part of the gradient at beta. An edge between two rows that were not
    computed carries nothing, and its line is not read.
    """
    computed = (rows.i < x.nodes.rows)[:, None]
    hi = known.h[:, None, :]
    gi = known.g[:, None, :]
    turned = tl.zeros((known.h.shape[0], U, known.h.shape[1]), known.h.dtype)
    valued = tl.zeros((known.h.shape[0], U, known.h.shape[1]), known.h.dtype)
    of_beta = tl.zeros((known.h.shape[0], U), known.h.dtype)
    j, there = entries_of(csr.columns, rows.begin, rows.length, 0, U)
    for k in range(0, tl.max(rows.length, 0), U):
        next_j, next_there = entries_of(csr.columns, rows.begin, rows.length, k + U, U)
        # Most edges of a very large graph end here: their lines need not be read.
        there = there & (computed | (j < x.nodes.rows))
        hj, gj, log_j, slope_j = _pairs_of(known.pair, known.facts, j, there, SHAPE)
        rj = inverse_norm(tl.sum(hj * hj, 2))
        cosine = tl.sum(hi * hj, 2) * rj * known.inverse[:, None]
        score = tl.where(there, known.beta * cosine, float("-inf"))
        taken = tl.exp(score - known.log[:, None])
        given = tl.exp(score - log_j)
        if csr.weights is not None:
            w = weights_of(csr.weights, rows.begin, k, there, U)
            taken = taken * w
            given = given * w
        pulled = taken * (tl.sum(gi * hj, 2) - known.slope[:, None])
        pushed = given * (tl.sum(gj * hi, 2) - slope_j)
        of_beta += pulled * cosine
        turned += ((pulled + pushed) * rj)[:, :, None] * hj
        valued += given[:, :, None] * gj
        j = next_j
        there = next_there
    return tl.sum(turned, 1), tl.sum(valued, 1), tl.sum(of_beta, 1)


@triton.jit
def _finish(x, rows, known, sums, SHAPE: tl.constexpr):
    """Write the gradient at the rows of h, and their part of the gradient at beta.

    Rows that have no part in the output get zeros.
    """
    of_beta = _store_gradient(x, rows, known, sums, SHAPE)
    tl.store(x.of_beta + rows.r * x.parts + tl.program_id(0), tl.sum(of_beta, 0))


@triton.jit
def _join(x, rows, known, parts, SHAPE: tl.constexpr):
    """The same from the sums of segments."""
    turned = tl.zeros_like(known.h)
    valued = tl.zeros_like(known.h)
    of_beta = tl.zeros_like(known.inverse)
    for s in range(rows.begin, rows.begin + rows.length):
        turned += part_like(parts[0], s, turned)
        valued += part_like(parts[1], s, valued)
        of_beta += part_like(parts[2], s, of_beta)
    of_beta = _store_gradient(x, rows, known, (turned, valued, of_beta), SHAPE)
    place = rows.r * x.parts + x.blocks + tl.program_id(0)
    tl.store(x.of_beta + place + tl.arange(0, 1), of_beta)


@triton.jit
def _store_gradient(x, rows, known, sums, SHAPE: tl.constexpr):
    """Write the gradient at rows of h, the rows themselves added; return that at beta, [B]."""
    turned, valued, of_beta = sums
    u = known.h * known.inverse[:, None]
    cosine = tl.where(known.inverse > 0, 1.0, 0.0)
    own = tl.exp(known.beta * cosine - known.log)
    along = tl.sum(turned * u, 1)
    across = turned - along[:, None] * u
    dh = valued + own[:, None] * known.g + (known.beta * known.inverse)[:, None] * across
    is_stored = (rows.i < x.nodes.n) & rows.is_short
    store_rows(x.dh, rows.r * x.nodes.n + rows.i, dh, is_stored, SHAPE.WIDTH)
    return of_beta + own * (tl.sum(known.g * known.h, 1) - known.slope) * cosine


BACKWARD = Operation("cosine_backward", read=_read, gather=_gather, join=_join, finish=_finish)
