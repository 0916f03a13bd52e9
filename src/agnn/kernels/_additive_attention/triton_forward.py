"""Additive attention on a GPU, forward: what it does at the rows that one block looks at.

Tiles as in cosine attention, with the K heads of a line as its last axis: a tile is
[rows, neighbours, features, heads]. The leaky ReLU is monotone, so a row's highest score is that
of its highest sender: a first pass over the senders' scores, K numbers each, finds the shift.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels._additive_attention import SLOPE as _SLOPE
from agnn.kernels._dropout.triton_cuda import Draw, factors, stream_of
from agnn.kernels._gpu.launches import Kernel, wait_for_inputs
from agnn.kernels._gpu.rows import Operation, entries_of, heads_of_rows, part_like, store_heads

SLOPE = tl.constexpr(_SLOPE)


class Forward(NamedTuple):
    """The operands."""

    states: Tensor  # [R, n, d K]: those that are summed
    parts: Tensor  # [R, n, 2, K]: every node's share in a score, as receiver and as sender
    bias: Tensor  # [R, d K]
    draw: Draw | None
    out: Tensor  # [R, rows, d K]
    logs: Tensor  # [R, rows, K]
    n: int
    rows: int


class _Known(NamedTuple):
    """Of one replica its operands, and of the rows their shares in a score and their labels."""

    states: Any
    parts: Any
    stream: Any  # of dropout
    received: Any
    sent: Any
    label: Any


@triton.jit
def leaky(x):
    """The leaky ReLU."""
    # The tensor comes first: up to 3.7, Triton's interpreter makes a constant of SLOPE * x.
    return tl.maximum(x, x * SLOPE)


@triton.jit
def part_of(facts, i, present, PART: tl.constexpr, PARTS: tl.constexpr, K: tl.constexpr):
    """Part PART of PARTS of what is known of nodes `i`, of any shape, by head; [..., K]."""
    k = tl.arange(0, K)
    places = (i.expand_dims(-1) * PARTS + PART) * K + k
    return tl.load(facts + places, mask=present.expand_dims(-1) & (k < K), other=0.0)


@triton.jit
def labels_of(draw, i, present):
    """By what dropout knows nodes `i`, of any shape; themselves where nothing is dropped."""
    label = i
    if draw is not None:
        label = tl.load(draw.row_ids + i, mask=present, other=0)
    return label


@triton.jit
def attention_factors(draw, stream, receiver, sender, like):
    """What dropout makes of the attention that receivers pay to senders, by label; [..., K]."""
    factor = tl.full(like.shape, 1.0, like.dtype)
    if draw is not None:
        heads: tl.constexpr = like.shape[len(like.shape) - 1]
        column = sender.expand_dims(-1) * heads + tl.arange(0, heads)
        factor = factors(draw, stream, receiver.expand_dims(-1), column).to(like.dtype)
    return factor


@Kernel
def score_shares(h, vectors, out, n, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """The shares of B nodes of one replica in a score: as receiver and as sender; [., 2, K]."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    k = tl.arange(0, SHAPE.K)
    hi = heads_of_rows(h + r * n * SHAPE.WIDTH, i, i < n, SHAPE)
    own = r + tl.arange(0, 1)
    a = heads_of_rows(vectors[0], own, own == r, SHAPE)
    b = heads_of_rows(vectors[1], own, own == r, SHAPE)
    place = ((r * n + i) * 2 * SHAPE.K)[:, None] + k[None, :]
    inside = (i < n)[:, None] & (k < SHAPE.K)[None, :]
    tl.store(out + place, tl.sum(hi * a, 1), mask=inside)
    tl.store(out + place + SHAPE.K, tl.sum(hi * b, 1), mask=inside)


@triton.jit
def _highest_sender(csr, parts, rows, start, K: tl.constexpr, U: tl.constexpr):
    """The largest share of a sender in each row, at least `start`; [B, K]."""
    highest = start
    j, there = entries_of(csr.columns, rows.begin, rows.length, 0, U)
    for k in range(0, tl.max(rows.length, 0), U):
        next_j, next_there = entries_of(csr.columns, rows.begin, rows.length, k + U, U)
        sent = tl.where(there[:, :, None], part_of(parts, j, there, 1, 2, K), float("-inf"))
        highest = tl.maximum(highest, tl.max(sent, 1))
        j = next_j
        there = next_there
    return highest


@triton.jit
def _weighted_sum(csr, x, rows, known, shift, SHAPE: tl.constexpr, U: tl.constexpr):
    """Sums over the neighbours of some rows [B] of e = exp(score - shift), and of e v_j dropped."""
    F: tl.constexpr = SHAPE.F
    K: tl.constexpr = SHAPE.K
    received = known.received
    acc = tl.zeros((received.shape[0], U, F, K), received.dtype)
    total = tl.zeros((received.shape[0], U, K), received.dtype)
    j, there = entries_of(csr.columns, rows.begin, rows.length, 0, U)
    for k in range(0, tl.max(rows.length, 0), U):
        next_j, next_there = entries_of(csr.columns, rows.begin, rows.length, k + U, U)
        score = leaky(received[:, None, :] + part_of(known.parts, j, there, 1, 2, K))
        e = tl.exp(tl.where(there[:, :, None], score - shift[:, None, :], float("-inf")))
        total += e
        sender = labels_of(x.draw, j, there)
        e *= attention_factors(x.draw, known.stream, known.label[:, None], sender, e)
        acc += e[:, :, None, :] * heads_of_rows(known.states, j, there, SHAPE)
        j = next_j
        there = next_there
    return tl.sum(total, 1), tl.sum(acc, 1)


@triton.jit
def _read(x, rows, SHAPE: tl.constexpr):
    parts = x.parts + rows.r * x.n * 2 * SHAPE.K
    return _Known(
        x.states + rows.r * x.n * SHAPE.WIDTH,
        parts,
        stream_of(x.draw, rows.r),
        part_of(parts, rows.i, rows.present, 0, 2, SHAPE.K),
        part_of(parts, rows.i, rows.present, 1, 2, SHAPE.K),
        labels_of(x.draw, rows.i, rows.present),
    )


@triton.jit
def _gather(csr, x, rows, known, SHAPE: tl.constexpr, U: tl.constexpr):
    """The shifts of the rows, and their sums over the given neighbours."""
    highest = _highest_sender(csr, known.parts, rows, known.sent, SHAPE.K, U)
    shift = leaky(known.received + highest)
    total, acc = _weighted_sum(csr, x, rows, known, shift, SHAPE, U)
    return shift, total, acc


@triton.jit
def _own_weights(x, known, shift):
    """Each row's e with itself, as it counts in the total and as dropout leaves it; [B, K]."""
    e = tl.exp(leaky(known.received + known.sent) - shift)
    return e, e * attention_factors(x.draw, known.stream, known.label, known.label, e)


@triton.jit
def _finish(x, rows, known, sums, SHAPE: tl.constexpr):
    """Add the rows themselves, and write the states and logarithms."""
    shift, total, acc = sums
    e, kept = _own_weights(x, known, shift)
    acc += kept[:, None, :] * heads_of_rows(known.states, rows.i, rows.present, SHAPE)
    _store(x, rows, shift, total + e, acc, SHAPE)


@triton.jit
def _join(x, rows, known, parts, SHAPE: tl.constexpr):
    """The same from the sums of segments, each of which has a shift of its own."""
    shift = part_like(parts[0], rows.begin, known.sent)
    for s in range(rows.begin + 1, rows.begin + rows.length):
        shift = tl.maximum(shift, part_like(parts[0], s, shift))
    total, kept = _own_weights(x, known, shift)
    acc = kept[:, None, :] * heads_of_rows(known.states, rows.i, rows.present, SHAPE)
    for s in range(rows.begin, rows.begin + rows.length):
        share = tl.exp(part_like(parts[0], s, shift) - shift)
        total += share * part_like(parts[1], s, total)
        acc += share[:, None, :] * part_like(parts[2], s, acc)
    _store(x, rows, shift, total, acc, SHAPE)


@triton.jit
def _store(x, rows, shift, total, acc, SHAPE: tl.constexpr):
    own = rows.r + tl.arange(0, 1)
    k = tl.arange(0, SHAPE.K)
    state = acc / total[:, None, :] + heads_of_rows(x.bias, own, own == rows.r, SHAPE)
    places = rows.r * x.rows + rows.i
    store_heads(x.out, places, state, rows.present, SHAPE.WIDTH)
    inside = rows.present[:, None] & (k < SHAPE.K)[None, :]
    tl.store(x.logs + places[:, None] * SHAPE.K + k[None, :], shift + tl.log(total), mask=inside)


FORWARD = Operation("additive_forward", read=_read, gather=_gather, join=_join, finish=_finish)
