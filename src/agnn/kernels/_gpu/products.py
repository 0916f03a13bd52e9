"""Sparse times dense on a GPU: out_i = start_i + sum over the entries q of line i of v_q s[q's].

A line is a row or a column of a sparse matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import LongRows
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._dropout.triton_cuda import Draw, draw_of, factors, stream_of
from agnn.kernels._gpu.launches import power_of_two, sum_type
from agnn.kernels._gpu.rows import Csr, Operation, entries_of, part_like, rows_of, store_rows


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


class _Shape(NamedTuple):
    WIDTH: int
    D: int
    SUM: Any  # the type of sums
    BY_COLUMN: bool


class _Product(NamedTuple):
    """The operands."""

    source: Tensor  # [R, readable, width]
    start: Tensor | None  # [R, width]
    own: Tensor | None  # [lines]
    draw: Draw | None
    out: Tensor  # [R, lines, width]
    readable: int
    lines: int


class _Known(NamedTuple):
    """Of one replica the dense operand and dropout, and of the lines what they begin with."""

    source: Any
    stream: Any
    line: Any  # 0 for one that is absent
    start: Any


@triton.jit
def _read(x, lines, SHAPE: tl.constexpr):
    WIDTH: tl.constexpr = SHAPE.WIDTH
    D: tl.constexpr = SHAPE.D
    source = x.source + lines.r * x.readable * WIDTH
    line = tl.where(lines.present, lines.i, 0)
    start = tl.zeros((line.shape[0], D), SHAPE.SUM)
    if x.start is not None:
        start += rows_of(x.start, lines.r + line * 0, lines.present, WIDTH, D)
    if x.own is not None:
        factor = tl.load(x.own + line, mask=lines.present, other=0.0).to(SHAPE.SUM)
        is_readable = lines.present & (line < x.readable)
        start += factor[:, None] * rows_of(source, line, is_readable, WIDTH, D)
    return _Known(source, stream_of(x.draw, lines.r), line, start)


@triton.jit
def _gather(csr, x, lines, known, SHAPE: tl.constexpr, U: tl.constexpr):
    """The sums of some lines [B] over the given entries; [B, D]."""
    D: tl.constexpr = SHAPE.D
    acc = tl.zeros((known.line.shape[0], U, D), SHAPE.SUM)
    for k in range(0, tl.max(lines.length, 0), U):
        named, there = entries_of(csr.columns, lines.begin, lines.length, k, U)
        place = lines.begin[:, None] + k + tl.arange(0, U)[None, :]
        value = tl.load(csr.weights + place, mask=there, other=0.0).to(SHAPE.SUM)
        if x.draw is not None:
            if SHAPE.BY_COLUMN:
                row = tl.load(x.draw.row_ids + named, mask=there, other=0)
                column = known.line[:, None]
            else:
                row = tl.load(x.draw.row_ids + known.line)[:, None]
                column = named
            value *= factors(x.draw, known.stream, row, column).to(SHAPE.SUM)
        taken = rows_of(known.source, named, there & (named < x.readable), SHAPE.WIDTH, D)
        acc += value[:, :, None] * taken
    return (tl.sum(acc, 1),)


@triton.jit
def _finish(x, lines, known, sums, SHAPE: tl.constexpr):
    _store(x, lines, known.start + sums[0], SHAPE)


@triton.jit
def _join(x, lines, known, parts, SHAPE: tl.constexpr):
    sums = known.start
    for s in range(lines.begin, lines.begin + lines.length):
        sums += part_like(parts[0], s, sums)
    _store(x, lines, sums, SHAPE)


@triton.jit
def _store(x, lines, sums, SHAPE: tl.constexpr):
    store_rows(x.out, lines.r * x.lines + lines.i, sums, lines.present, SHAPE.WIDTH)


_PRODUCT = Operation("product", read=_read, gather=_gather, join=_join, finish=_finish)


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
    exact = tl.float64 if sum_type(source.dtype) == torch.float64 else tl.float32
    out = source.new_empty(replicas, count, width)
    draw = None if labels is None else draw_of(labels.row_ids, drop)
    begin = None if start is None else start.detach().contiguous()
    is_column = draw is not None and labels is not None and labels.by_column
    shape = _Shape(width, power_of_two(width), exact, is_column)
    _PRODUCT.run(
        Csr(lines.offsets, lines.indices, lines.values, count),
        lines.long,
        _Product(source, begin, own, draw, out, readable, count),
        shape,
        out=out,
        widths=(shape.D,),
    )
    return out
