"""Additive attention on a GPU, backward; tiles as in `triton_forward.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._additive_attention.triton_forward import (
    SLOPE,
    attention_factors,
    labels_of,
    leaky,
    part_of,
)
from agnn.kernels._dropout.triton_cuda import Draw, stream_of
from agnn.kernels._gpu.launches import Kernel, wait_for_inputs
from agnn.kernels._gpu.rows import Operation, entries_of, heads_of_rows, part_like, store_heads


class Pairs(NamedTuple):
    """What the backward pass reads of the nodes."""

    pair: Tensor  # [R, n, 2 d K]: v_i and g_i in one line
    facts: Tensor  # [R, n, 4, K]: both shares in a score, the logarithm, and g_i . (o_i - b)
    n: int
    rows: int  # that were computed


class Given(NamedTuple):
    """What `pair_states` makes the pairs of."""

    states: Tensor  # [R, n, d K]: those that are summed
    gradient: Tensor  # [R, rows, d K]
    out: Tensor  # [R, rows, d K]
    bias: Tensor  # [R, d K]
    parts: Tensor  # [R, n, 2, K]
    logs: Tensor  # [R, rows, K]


class Backward(NamedTuple):
    """The operands."""

    nodes: Pairs
    draw: Draw | None
    dv: Tensor  # [R, n, d K]: the gradient at the values
    pulls: Tensor  # [R, n, 2, K]: the gradients at the shares in the scores


class Shares(NamedTuple):
    """The operands of `share_gradients`."""

    h: Tensor  # [R, n, d K]
    receiving: Tensor  # [R, d, K]
    sending: Tensor  # [R, d, K]
    pulls: Tensor  # [R, n, 2, K]
    dv: Tensor  # [R, n, d K]
    n: int


class _Known(NamedTuple):
    """Of one replica its operands, and of the rows what stands there."""

    pair: Any
    facts: Any
    stream: Any  # of dropout
    label: Any
    v: Any
    g: Any
    fact: Any  # the four of a row


@Kernel
def pair_states(given, nodes, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """What the backward pass reads of a node, B nodes of one replica: (v_i, g_i) in one line.

    And by head, in another, its two shares in a score, its logarithm and g_i . (o_i - b). A row
    that was not computed has no gradient and an infinite logarithm: it attends to nothing.
    """
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    K: tl.constexpr = SHAPE.K
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    k = tl.arange(0, K)
    own = r + tl.arange(0, 1)
    present = i < nodes.n
    computed = i < nodes.rows
    gi = heads_of_rows(given.gradient + r * nodes.rows * WIDTH, i, computed, SHAPE)
    oi = heads_of_rows(given.out + r * nodes.rows * WIDTH, i, computed, SHAPE)
    mean = tl.sum(gi * (oi - heads_of_rows(given.bias, own, own == r, SHAPE)), 1)
    inside = present[:, None] & (k < K)[None, :]
    place = (r * nodes.rows + i)[:, None] * K + k[None, :]
    log = tl.load(given.logs + place, mask=computed[:, None] & inside, other=float("inf"))
    parts = given.parts + r * nodes.n * 2 * K
    place = ((r * nodes.n + i) * 4 * K)[:, None] + k[None, :]
    tl.store(nodes.facts + place, part_of(parts, i, present, 0, 2, K), mask=inside)
    tl.store(nodes.facts + place + K, part_of(parts, i, present, 1, 2, K), mask=inside)
    tl.store(nodes.facts + place + 2 * K, log, mask=inside)
    tl.store(nodes.facts + place + 3 * K, mean, mask=inside)
    column = tl.arange(0, SHAPE.F)[:, None] * K + k[None, :]
    place = (r * nodes.n + i)[:, None, None] * (2 * WIDTH) + column[None, :, :]
    inside = present[:, None, None] & (column < WIDTH)[None, :, :]
    vi = heads_of_rows(given.states + r * nodes.n * WIDTH, i, present, SHAPE)
    tl.store(nodes.pair + place, vi, mask=inside)
    tl.store(nodes.pair + place + WIDTH, gi, mask=inside)


@triton.jit
def _pairs_of(pair, i, present, SHAPE: tl.constexpr):
    """Values and gradients of nodes `i`, of any shape; each [..., F, K]."""
    column = tl.arange(0, SHAPE.F)[:, None] * SHAPE.K + tl.arange(0, SHAPE.K)[None, :]
    places = i.expand_dims(-1).expand_dims(-1) * (2 * SHAPE.WIDTH) + column
    inside = present.expand_dims(-1).expand_dims(-1) & (column < SHAPE.WIDTH)
    v = tl.load(pair + places, mask=inside, other=0.0)
    g = tl.load(pair + places + SHAPE.WIDTH, mask=inside, other=0.0)
    if v.dtype == tl.bfloat16:
        v = v.to(tl.float32)
        g = g.to(tl.float32)
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
def _read(x, rows, SHAPE: tl.constexpr):
    pair = x.nodes.pair + rows.r * x.nodes.n * 2 * SHAPE.WIDTH
    facts = x.nodes.facts + rows.r * x.nodes.n * 4 * SHAPE.K
    stream = stream_of(x.draw, rows.r)
    label = labels_of(x.draw, rows.i, rows.present)
    v, g = _pairs_of(pair, rows.i, rows.present, SHAPE)
    fact = _facts_of(facts, rows.i, rows.present, SHAPE.K)
    return _Known(pair, facts, stream, label, v, g, fact)


@triton.jit
def _gather(csr, x, rows, known, SHAPE: tl.constexpr, U: tl.constexpr):
    """Sums over the neighbours of some rows [B], by head.

    What each pulls as a receiver and what is pushed at it as a sender, for its two shares in the
    scores; and what comes back to its values. An edge between two rows that were not computed
    carries nothing, and its line is not read.
    """
    F: tl.constexpr = SHAPE.F
    K: tl.constexpr = SHAPE.K
    a_i, b_i, log_i, mean_i = known.fact
    vi = known.v[:, None, :, :]
    gi = known.g[:, None, :, :]
    mine = known.label[:, None]
    pull = tl.zeros((a_i.shape[0], U, K), log_i.dtype)
    push = tl.zeros((a_i.shape[0], U, K), log_i.dtype)
    valued = tl.zeros((a_i.shape[0], U, F, K), log_i.dtype)
    computed = (rows.i < x.nodes.rows)[:, None]
    j, there = entries_of(csr.columns, rows.begin, rows.length, 0, U)
    for k in range(0, tl.max(rows.length, 0), U):
        next_j, next_there = entries_of(csr.columns, rows.begin, rows.length, k + U, U)
        there = there & (computed | (j < x.nodes.rows))
        vj, gj = _pairs_of(known.pair, j, there, SHAPE)
        a_j, b_j, log_j, mean_j = _facts_of(known.facts, j, there, K)
        paying = a_i[:, None, :] + b_j
        getting = a_j + b_i[:, None, :]
        out_of_row = tl.where(there[:, :, None], leaky(paying) - log_i[:, None, :], float("-inf"))
        pays = tl.exp(out_of_row)
        gets = tl.exp(tl.where(there[:, :, None], leaky(getting) - log_j, float("-inf")))
        other = labels_of(x.draw, j, there)
        paid = attention_factors(x.draw, known.stream, mine, other, pays)
        got = attention_factors(x.draw, known.stream, other, mine, pays)
        pull += _slope(pays, paid, tl.sum(gi * vj, 2), mean_i[:, None, :], paying)
        push += _slope(gets, got, tl.sum(gj * vi, 2), mean_j, getting)
        valued += (gets * got)[:, :, None, :] * gj
        j = next_j
        there = next_there
    return tl.sum(pull, 1), tl.sum(push, 1), tl.sum(valued, 1)


@triton.jit
def _finish(x, rows, known, sums, SHAPE: tl.constexpr):
    """Write the gradients at rows of the values and at their shares, the rows themselves added.

    Rows that have no part in the output get zeros.
    """
    pull, push, valued = sums
    a, b, log, mean = known.fact
    score = a + b
    weight = tl.exp(leaky(score) - log)
    factor = attention_factors(x.draw, known.stream, known.label, known.label, weight)
    own = _slope(weight, factor, tl.sum(known.g * known.v, 1), mean, score)
    k = tl.arange(0, SHAPE.K)
    is_stored = (rows.i < x.nodes.n) & rows.is_short
    inside = is_stored[:, None] & (k < SHAPE.K)[None, :]
    node = rows.r * x.nodes.n + rows.i
    place = (node * 2 * SHAPE.K)[:, None] + k[None, :]
    tl.store(x.pulls + place, pull + own, mask=inside)
    tl.store(x.pulls + place + SHAPE.K, push + own, mask=inside)
    valued += (weight * factor)[:, None, :] * known.g
    store_heads(x.dv, node, valued, is_stored, SHAPE.WIDTH)


@triton.jit
def _join(x, rows, known, parts, SHAPE: tl.constexpr):
    """The same from the sums of segments."""
    log = known.fact[2]
    pull = tl.zeros_like(log)
    push = tl.zeros_like(log)
    valued = tl.zeros(known.v.shape, log.dtype)
    for s in range(rows.begin, rows.begin + rows.length):
        pull += part_like(parts[0], s, pull)
        push += part_like(parts[1], s, push)
        valued += part_like(parts[2], s, valued)
    _finish(x, rows, known, (pull, push, valued), SHAPE)


BACKWARD = Operation("additive_backward", read=_read, gather=_gather, join=_join, finish=_finish)


@Kernel
def share_gradients(
    x, dh, parts, SHAPE: tl.constexpr, B: tl.constexpr, CHUNK: tl.constexpr, EARLY: tl.constexpr
):
    """What the shares in the scores pass on: to CHUNK rows of h, and to the two vectors."""
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    F: tl.constexpr = SHAPE.F
    K: tl.constexpr = SHAPE.K
    n = x.n
    chunk = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1).to(tl.int64)
    own = r + tl.arange(0, 1)
    column = tl.arange(0, F)[:, None] * K + tl.arange(0, K)[None, :]
    a = heads_of_rows(x.receiving, own, own == r, SHAPE)
    b = heads_of_rows(x.sending, own, own == r, SHAPE)
    da = tl.zeros((F, K), x.pulls.dtype.element_ty)
    db = tl.zeros((F, K), x.pulls.dtype.element_ty)
    for step in range(0, tl.minimum(CHUNK, n - chunk * CHUNK), B):
        i = chunk * CHUNK + step + tl.arange(0, B)
        hi = heads_of_rows(x.h + r * n * WIDTH, i, i < n, SHAPE)
        pull = part_of(x.pulls + r * n * 2 * K, i, i < n, 0, 2, K)[:, None, :]
        push = part_of(x.pulls + r * n * 2 * K, i, i < n, 1, 2, K)[:, None, :]
        slopes = heads_of_rows(x.dv + r * n * WIDTH, i, i < n, SHAPE) + pull * a + push * b
        store_heads(dh, r * n + i, slopes, i < n, WIDTH)
        da += tl.sum(pull * hi, 0)
        db += tl.sum(push * hi, 0)
    place = (r * tl.num_programs(0) + chunk) * 2 * WIDTH + column
    tl.store(parts + place, da, mask=column < WIDTH)
    tl.store(parts + place + WIDTH, db, mask=column < WIDTH)
