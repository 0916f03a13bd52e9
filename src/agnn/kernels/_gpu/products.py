"""Sparse times dense on a GPU: out_i = start_i + sum over the entries q of line i of v_q s[q's].

A line is a row or a column of a sparse matrix. The sums of a line too long for one program are
made segment by segment and joined in order: no atomics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import LongRows
from agnn.kernels._dropout.triton_cuda import epoch_state, factors
from agnn.kernels._gpu.gather import (
    entries_of,
    long_row_of_program,
    rows_of,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.tiles import choose_tile, sum_type

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt


class Lines(NamedTuple):
    """A sparse matrix line by line."""

    offsets: Tensor  # [lines + 1]
    indices: Tensor  # [nnz]: the line of the dense operand that each entry takes
    values: Tensor  # [nnz]
    long: LongRows


class Labels(NamedTuple):
    """By what dropout knows the entries: rows have labels, columns are their numbers."""

    row_ids: Tensor
    by_column: bool  # whether a line is a column


@triton.jit
def _sums(
    indices, values, source, readable, line, begin, length,
    row_ids, keys, thresholds, scales, r, state,
    DROPPED: tl.constexpr, BY_COLUMN: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
    B: tl.constexpr, U: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """The sums of some lines [B] over the given entries; [B, D]."""
    acc = tl.zeros((B, U, D), SUM)
    for k in range(0, tl.max(length, 0), U):
        named, there = entries_of(indices, begin, length, k, U)
        place = begin[:, None] + k + tl.arange(0, U)[None, :]
        value = tl.load(values + place, mask=there, other=0.0).to(SUM)
        if DROPPED:
            if BY_COLUMN:
                row, column = tl.load(row_ids + named, mask=there, other=0), line[:, None]
            else:
                row, column = tl.load(row_ids + line)[:, None], named
            value *= factors(keys, thresholds, scales, r, state, row, column).to(SUM)
        taken = rows_of(source, named, there & (named < readable), WIDTH, D)
        acc += value[:, :, None] * taken
    return tl.sum(acc, 1)


@triton.jit
def _starts(
    start, own, source, readable, line, present, r,
    START: tl.constexpr, OWN: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """What some lines [B] begin with: a replica's `start`, or their own line times `own`."""
    found = tl.zeros((line.shape[0], D), SUM)
    if START:
        found += rows_of(start, r + line * 0, present, WIDTH, D)
    if OWN:
        factor = tl.load(own + line, mask=present, other=0.0).to(SUM)
        found += factor[:, None] * rows_of(source, line, present & (line < readable), WIDTH, D)
    return found


@Program
def _lines(
    offsets, indices, values, source, start, own, row_ids,
    keys, thresholds, scales, epoch, out, readable, count,
    LIMIT: tl.constexpr, DROPPED: tl.constexpr, BY_COLUMN: tl.constexpr, START: tl.constexpr,
    OWN: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """B lines of one replica."""
    wait_for_inputs(EARLY)
    r, line, present, _, begin, length = rows_of_program(offsets, count, LIMIT, B)
    line = tl.where(present, line, 0)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    source += r * readable * WIDTH
    sums = _starts(start, own, source, readable, line, present, r, START, OWN, WIDTH, D, SUM)
    sums += _sums(
        indices, values, source, readable, line, begin, length, row_ids, keys, thresholds, scales,
        r, state, DROPPED, BY_COLUMN, WIDTH, D, B, U, SUM,
    )  # fmt: skip
    d = tl.arange(0, D)
    place = (r * count + line)[:, None] * WIDTH + d[None, :]
    tl.store(out + place, sums, mask=present[:, None] & (d < WIDTH)[None, :])


@Program
def _segment(
    segment_lines, bounds, indices, values, source, row_ids,
    keys, thresholds, scales, epoch, parts, readable, segments,
    DROPPED: tl.constexpr, BY_COLUMN: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
    U: tl.constexpr, SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sum of one segment of a long line of one replica."""
    wait_for_inputs(EARLY)
    r, place, line, begin, length = segment_of_program(segment_lines, bounds, segments)
    d = tl.arange(0, D)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    sums = _sums(
        indices, values, source + r * readable * WIDTH, readable, line, begin, length, row_ids,
        keys, thresholds, scales, r, state, DROPPED, BY_COLUMN, WIDTH, D, 1, U, SUM,
    )  # fmt: skip
    tl.store(parts + place[:, None] * D + d[None, :], sums)


@Program
def _joined(
    long_lines, first, source, start, own, parts, out,
    readable, count, segments, START: tl.constexpr, OWN: tl.constexpr,
    WIDTH: tl.constexpr, D: tl.constexpr, SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One long line of one replica from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, line, begin, end = long_row_of_program(long_lines, first, segments)
    one, d = tl.arange(0, 1), tl.arange(0, D)
    present = line < count
    source += r * readable * WIDTH
    sums = _starts(start, own, source, readable, line, present, r, START, OWN, WIDTH, D, SUM)
    for s in range(begin, end):
        sums += tl.load(parts + (s + one)[:, None] * D + d[None, :])
    place = (r * count + line)[:, None] * WIDTH + d[None, :]
    tl.store(out + place, sums, mask=present[:, None] & (d < WIDTH)[None, :])


def products(
    lines: Lines,
    source: Tensor,
    count: int,
    *,
    start: Tensor | None = None,
    own: Tensor | None = None,
    drop: DropoutAt | None = None,
    labels: Labels | None = None,
) -> Tensor:
    """The first `count` lines times `source` [R, k, width]; [R, count, width].

    Entries that name a line of `source` from k on count as zero. `start` [R, width] is what every
    line of a replica begins with; with `own` [lines] a line begins with that multiple of the line
    of `source` of the same number. `drop` drops entries of the matrix by their `labels`.
    """
    source = source.detach().contiguous()
    replicas, readable, width = source.shape
    dtype = sum_type(source.dtype)
    exact = tl.float64 if dtype == torch.float64 else tl.float32
    long = lines.long
    out = source.new_empty(replicas, count, width)
    nothing = source  # an operand that is not read
    draws = (nothing,) * 5
    is_column = False
    if drop is not None and labels is not None:
        draws = (labels.row_ids, drop.keys, drop.thresholds, drop.scales, drop.epoch)
        is_column = labels.by_column
    begins = (
        nothing if start is None else start.detach().contiguous(),
        nothing if own is None else own,
    )
    flags = (start is not None, own is not None)
    tile = choose_tile(width, lines.offsets.numel() - 1, lines.indices.numel())
    _lines[(-(-count // tile.rows), replicas)](
        lines.offsets, lines.indices, lines.values, source, *begins, *draws, out, readable, count,
        long.limit, drop is not None, is_column, *flags, width, tile.columns, tile.rows,
        tile.entries, exact, num_warps=1,
    )  # fmt: skip
    if long.count:
        tile = choose_tile(width, 1, long.limit)
        parts = torch.empty(
            replicas, long.segments, tile.columns, dtype=dtype, device=source.device
        )
        _segment[(long.segments, replicas)](
            long.segment_rows, long.segment_bounds, lines.indices, lines.values, source, *draws,
            parts, readable, long.segments, drop is not None, is_column, width, tile.columns,
            tile.entries, exact, num_warps=1,
        )  # fmt: skip
        _joined[(long.count, replicas)](
            long.rows, long.first, source, *begins, parts, out, readable, count, long.segments,
            *flags, width, tile.columns, exact, num_warps=1,
        )  # fmt: skip
    return out
