"""The programs of additive attention on a GPU, forward.

Tiles as in cosine attention, with the K heads of a line as its last axis: a tile is
[rows, neighbours, features, heads]. The leaky ReLU is monotone, so a row's highest score is that
of its highest sender: a first pass over the senders' scores, K numbers each, finds the shift.
"""

from __future__ import annotations

import triton
import triton.language as tl

from agnn.kernels._additive_attention.reference import SLOPE as _SLOPE
from agnn.kernels._dropout.triton_cuda import epoch_state, factors
from agnn.kernels._gpu.gather import (
    entries_of,
    heads_of_rows,
    long_row_of_program,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs

SLOPE = tl.constexpr(_SLOPE)


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
def paid_factors(
    keys, thresholds, scales, r, state, receiver, sender, K: tl.constexpr
):  # fmt: skip
    """What dropout makes of the attention that receivers pay to senders, by label; [..., K]."""
    column = sender.expand_dims(-1) * K + tl.arange(0, K)
    return factors(keys, thresholds, scales, r, state, receiver.expand_dims(-1), column)


@Program
def scores(
    h, receiving, sending, out, n,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The shares of B nodes of one replica in a score: as receiver and as sender; [., 2, K]."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i, k = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.arange(0, K)
    hi = heads_of_rows(h + r * n * WIDTH, i, i < n, WIDTH, F, K)
    own = r + tl.arange(0, 1)
    a = heads_of_rows(receiving, own, own == r, WIDTH, F, K)
    b = heads_of_rows(sending, own, own == r, WIDTH, F, K)
    place = ((r * n + i) * 2 * K)[:, None] + k[None, :]
    inside = (i < n)[:, None] & (k < K)[None, :]
    tl.store(out + place, tl.sum(hi * a, 1), mask=inside)
    tl.store(out + place + K, tl.sum(hi * b, 1), mask=inside)


@triton.jit
def _highest_sender(columns, parts, begin, length, start, K: tl.constexpr, U: tl.constexpr):
    """The largest share of a sender in each row, at least `start`; [B, K]."""
    highest = start
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        sent = tl.where(there[:, :, None], part_of(parts, j, there, 1, 2, K), float("-inf"))
        highest = tl.maximum(highest, tl.max(sent, 1))
        j, there = next_j, next_there
    return highest


@triton.jit
def _weighted_sum(
    columns, values, parts, row_ids, keys, thresholds, scales, r, state, label, received, shift,
    begin, length, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Sums over the neighbours of some rows [B] of e = exp(score - shift), and of e v_j dropped."""
    acc = tl.zeros((received.shape[0], U, F, K), received.dtype)
    total = tl.zeros((received.shape[0], U, K), received.dtype)
    j, there = entries_of(columns, begin, length, 0, U)
    for k in range(0, tl.max(length, 0), U):
        next_j, next_there = entries_of(columns, begin, length, k + U, U)
        score = leaky(received[:, None, :] + part_of(parts, j, there, 1, 2, K))
        e = tl.exp(tl.where(there[:, :, None], score - shift[:, None, :], float("-inf")))
        total += e
        if DROPPED:
            sender = tl.load(row_ids + j, mask=there, other=0)
            paid = paid_factors(keys, thresholds, scales, r, state, label[:, None], sender, K)
            e *= paid.to(e.dtype)
        acc += e[:, :, None, :] * heads_of_rows(values, j, there, WIDTH, F, K)
        j, there = next_j, next_there
    return tl.sum(total, 1), tl.sum(acc, 1)


@triton.jit
def _receivers(
    columns, values, parts, row_ids, keys, thresholds, scales, r, state, i, begin, length, present,
    DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """The shifts of rows i and their sums over the given neighbours."""
    received = part_of(parts, i, present, 0, 2, K)
    sent = part_of(parts, i, present, 1, 2, K)
    shift = leaky(received + _highest_sender(columns, parts, begin, length, sent, K, U))
    label = i
    if DROPPED:
        label = tl.load(row_ids + i, mask=present, other=0)
    total, acc = _weighted_sum(
        columns, values, parts, row_ids, keys, thresholds, scales, r, state, label, received,
        shift, begin, length, DROPPED, WIDTH, F, K, U,
    )  # fmt: skip
    return shift, total, acc


@triton.jit
def _own_weights(
    parts, row_ids, keys, thresholds, scales, r, state, i, present, shift,
    DROPPED: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Each row's e with itself, as it counts in the total and as dropout leaves it; [B, K]."""
    score = leaky(part_of(parts, i, present, 0, 2, K) + part_of(parts, i, present, 1, 2, K))
    e = tl.exp(score - shift)
    kept = e
    if DROPPED:
        label = tl.load(row_ids + i, mask=present, other=0)
        kept *= paid_factors(keys, thresholds, scales, r, state, label, label, K).to(e.dtype)
    return e, kept


@triton.jit
def _store_states(
    out, logs, bias, r, i, rows, present, shift, total, acc,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Rows i of one replica: their states, and the logarithm of each head's sum of exp(score)."""
    own, k = r + tl.arange(0, 1), tl.arange(0, K)
    state = acc / total[:, None, :] + heads_of_rows(bias, own, own == r, WIDTH, F, K)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    place = (r * rows + i)[:, None, None] * WIDTH + column[None, :, :]
    tl.store(out + place, state, mask=present[:, None, None] & (column < WIDTH)[None, :, :])
    place = (r * rows + i)[:, None] * K + k[None, :]
    tl.store(logs + place, shift + tl.log(total), mask=present[:, None] & (k < K)[None, :])


@Program
def forward_rows(
    offsets, columns, values, parts, bias, row_ids, keys, thresholds, scales, epoch,
    out, logs, n, rows, LIMIT: tl.constexpr, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica."""
    wait_for_inputs(EARLY)
    r, i, present, _, begin, length = rows_of_program(offsets, rows, LIMIT, B)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    parts += r * n * 2 * K
    values += r * n * WIDTH
    shift, total, acc = _receivers(
        columns, values, parts, row_ids, keys, thresholds, scales, r, state, i, begin, length,
        present, DROPPED, WIDTH, F, K, U,
    )  # fmt: skip
    e, kept = _own_weights(
        parts, row_ids, keys, thresholds, scales, r, state, i, present, shift, DROPPED, K
    )
    acc += kept[:, None, :] * heads_of_rows(values, i, present, WIDTH, F, K)
    _store_states(out, logs, bias, r, i, rows, present, shift, total + e, acc, WIDTH, F, K)


@Program
def forward_segment(
    segment_rows, bounds, columns, values, parts, row_ids, keys, thresholds, scales, epoch,
    sums, totals, shifts, n, rows, segments, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long row, for `forward_joined`."""
    wait_for_inputs(EARLY)
    r, place, i, begin, length = segment_of_program(segment_rows, bounds, segments)
    k, present = tl.arange(0, K), i < rows
    length = tl.where(present, length, 0)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    shift, total, acc = _receivers(
        columns, values + r * n * WIDTH, parts + r * n * 2 * K, row_ids, keys, thresholds, scales,
        r, state, i, begin, length, present, DROPPED, WIDTH, F, K, U,
    )  # fmt: skip
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    tl.store(sums + place[:, None, None] * (F * K) + column[None, :, :], acc)
    tl.store(totals + place[:, None] * K + k[None, :], total)
    tl.store(shifts + place[:, None] * K + k[None, :], shift)


@Program
def forward_joined(
    long_rows, first, values, parts, bias, row_ids, keys, thresholds, scales, epoch,
    sums, totals, shifts, out, logs, n, rows, segments, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One long row of one replica from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, i, begin, end = long_row_of_program(long_rows, first, segments)
    one, k = tl.arange(0, 1), tl.arange(0, K)
    present = i < rows
    shift = tl.load(shifts + (begin + one)[:, None] * K + k[None, :])
    for s in range(begin + 1, end):
        shift = tl.maximum(shift, tl.load(shifts + (s + one)[:, None] * K + k[None, :]))
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    total, kept = _own_weights(
        parts + r * n * 2 * K, row_ids, keys, thresholds, scales, r, state, i, present, shift,
        DROPPED, K,
    )  # fmt: skip
    acc = kept[:, None, :] * heads_of_rows(values + r * n * WIDTH, i, present, WIDTH, F, K)
    column = tl.arange(0, F)[:, None] * K + k[None, :]
    for s in range(begin, end):
        place = (s + one)[:, None] * K + k[None, :]
        share = tl.exp(tl.load(shifts + place) - shift)
        total += share * tl.load(totals + place)
        found = tl.load(sums + (s + one)[:, None, None] * (F * K) + column[None, :, :])
        acc += share[:, None, :] * found
    _store_states(out, logs, bias, r, i, rows, present, shift, total, acc, WIDTH, F, K)
