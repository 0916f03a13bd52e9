"""One walk over the rows of a sparse matrix, whatever is summed there.

An operation gives four functions (`Operation`), and three kernels are compiled with them:

- `_short_rows` goes through rows of few entries, some rows of one replica at a time;
- `_segments` goes through the rows that are too long for one block, segment by segment, and leaves
  the sums of each segment in memory;
- `_joined_rows` makes the sums of a long row from those of its segments, in their order.

There are no atomics: every row is written by one block, and every sum has a fixed order, so the
same input gives the same bits.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import Graph, LongRows
from agnn.kernels._gpu.launches import Kernel, choose_tile, sum_type, wait_for_inputs


@triton.jit
def raw_rows(lines, i, present, WIDTH: tl.constexpr, D: tl.constexpr):
    """Lines `i`, of any shape, of [., WIDTH], in their own type; zero for those that are absent."""
    d = tl.arange(0, D)
    inside = present.expand_dims(-1) & (d < WIDTH)
    return tl.load(lines + (i.expand_dims(-1) * WIDTH + d), mask=inside, other=0.0)


@triton.jit
def rows_of(lines, i, present, WIDTH: tl.constexpr, D: tl.constexpr):
    """The same in the type that sums are kept in."""
    rows = raw_rows(lines, i, present, WIDTH, D)
    return rows if rows.dtype == tl.float64 else rows.to(tl.float32)


@triton.jit
def heads_of_rows(lines, i, present, SHAPE: tl.constexpr):
    """Lines `i`, of any shape, of [., WIDTH] by head: [..., F, K], column f K + k at (f, k)."""
    column = tl.arange(0, SHAPE.F)[:, None] * SHAPE.K + tl.arange(0, SHAPE.K)[None, :]
    places = i.expand_dims(-1).expand_dims(-1) * SHAPE.WIDTH + column
    inside = present.expand_dims(-1).expand_dims(-1) & (column < SHAPE.WIDTH)
    rows = tl.load(lines + places, mask=inside, other=0.0)
    return rows if rows.dtype == tl.float64 else rows.to(tl.float32)


@triton.jit
def entries_of(indices, begin, length, k, U: tl.constexpr):
    """The entries k to k + U of some rows [B]: what they name, and whether they are there."""
    u = k + tl.arange(0, U)[None, :]
    there = u < length[:, None]
    named = tl.load(indices + begin[:, None] + u, mask=there, other=0).to(tl.int64)
    return named, there


@triton.jit
def bounds_of(offsets, i, present):
    """Where the entries of rows `i` begin, and how many there are; none for an absent row."""
    begin = tl.load(offsets + i, mask=present, other=0)
    return begin, (tl.load(offsets + i + 1, mask=present, other=0) - begin).to(tl.int32)


@triton.jit
def store_rows(lines, i, values, present, WIDTH: tl.constexpr):
    """Write `values` [B, D] to the lines `i` [B] of [., WIDTH] that are present."""
    d = tl.arange(0, values.shape[1])
    inside = present[:, None] & (d < WIDTH)[None, :]
    tl.store(lines + i[:, None] * WIDTH + d[None, :], values, mask=inside)


@triton.jit
def store_heads(lines, i, values, present, WIDTH: tl.constexpr):
    """Write `values` [B, F, K] to the lines `i` [B] of [., WIDTH] that are present."""
    heads: tl.constexpr = values.shape[2]
    column = tl.arange(0, values.shape[1])[:, None] * heads + tl.arange(0, heads)[None, :]
    inside = present[:, None, None] & (column < WIDTH)[None, :, :]
    tl.store(lines + i[:, None, None] * WIDTH + column[None, :, :], values, mask=inside)


# What the kernels below call; every operation has kernels of its own with these replaced.
READ: Any = None
GATHER: Any = None
JOIN: Any = None
FINISH: Any = None


class Csr(NamedTuple):
    """A sparse matrix by rows, or by columns if those are what one walks over."""

    offsets: Tensor  # [rows + 1]
    columns: Tensor  # [entries]
    weights: Tensor | None  # [entries], or another operand by entry
    rows: int  # to go through, the first ones


class Rows(NamedTuple):
    """The rows that one block looks at, [B]."""

    r: Any  # the replica
    i: Any
    present: Any  # whether a row is among those asked for, and not left to its segments
    is_short: Any
    begin: Any  # the first of its entries or, for a long row, of its segments
    length: Any  # how many there are


class _Long(NamedTuple):
    """The long rows, their segments, and where the sums of the segments lie."""

    rows: Tensor
    first: Tensor
    segment_rows: Tensor
    bounds: Tensor
    segments: int
    parts: tuple[Tensor, ...]  # [R, segments, width] each


def _short_rows(
    csr, x, SHAPE: tl.constexpr, TILE: tl.constexpr, LIMIT: tl.constexpr, EARLY: tl.constexpr
):
    wait_for_inputs(EARLY)
    # 64 bits: places in the states of many replicas do not fit into 32.
    i = tl.program_id(0).to(tl.int64) * TILE.rows + tl.arange(0, TILE.rows)
    inside = i < csr.rows
    begin, length = bounds_of(csr.offsets, i, inside)
    # A block waits for the longest of its rows, and the kernel for the longest of its blocks: a
    # row with many entries is left to the segments, which run side by side.
    is_short = length <= LIMIT
    present = inside & is_short
    length = tl.where(present, length, 0)
    rows = Rows(tl.program_id(1).to(tl.int64), i, present, is_short, begin, length)
    known = READ(x, rows, SHAPE)
    sums = GATHER(csr, x, rows, known, SHAPE, TILE.entries)
    FINISH(x, rows, known, sums, SHAPE)


def _segments(csr, x, long, SHAPE: tl.constexpr, ENTRIES: tl.constexpr, EARLY: tl.constexpr):
    wait_for_inputs(EARLY)
    segment = tl.program_id(0) + tl.arange(0, 1)
    r = tl.program_id(1).to(tl.int64)
    i = tl.load(long.segment_rows + segment)
    present = i < csr.rows
    begin = tl.load(long.bounds + segment)
    length = (tl.load(long.bounds + long.segments + segment) - begin).to(tl.int32)
    rows = Rows(r, i, present, present, begin, tl.where(present, length, 0))
    known = READ(x, rows, SHAPE)
    sums = GATHER(csr, x, rows, known, SHAPE, ENTRIES)
    # Into memory of its own, not added to the row: which segment ends first changes no sum.
    for k in tl.static_range(len(sums)):
        places = _part_places(r * long.segments + segment, sums[k].shape)
        tl.store(long.parts[k] + places, sums[k])


def _joined_rows(csr, x, long, SHAPE: tl.constexpr, EARLY: tl.constexpr):
    wait_for_inputs(EARLY)
    k = tl.program_id(0)
    r = tl.program_id(1).to(tl.int64)
    i = tl.load(long.rows + k + tl.arange(0, 1))
    present = i < csr.rows
    begin = r * long.segments + tl.load(long.first + k)
    end = r * long.segments + tl.load(long.first + k + 1)
    rows = Rows(r, i, present, present, begin, end - begin)
    known = READ(x, rows, SHAPE)
    JOIN(x, rows, known, long.parts, SHAPE)


@triton.jit
def _part_places(place, SHAPE: tl.constexpr):
    """Where the numbers of one segment's sum of a SHAPE [1, ...] lie, `place` [1] being its own."""
    if len(SHAPE) == 1:
        places = place
    elif len(SHAPE) == 2:
        places = place[:, None] * SHAPE[1] + tl.arange(0, SHAPE[1])[None, :]
    else:
        inner = tl.arange(0, SHAPE[1])[:, None] * SHAPE[2] + tl.arange(0, SHAPE[2])[None, :]
        places = place[:, None, None] * (SHAPE[1] * SHAPE[2]) + inner[None, :, :]
    return places


@triton.jit
def part_like(part, s, like):
    """The sum of the segment at place `s` that has the shape of `like`, [1, ...]."""
    return tl.load(part + _part_places(s + tl.arange(0, 1), like.shape))


class Operation:
    """What differs from operation to operation, as functions that Triton compiles in.

    In these, `x` is a named tuple of the operation's own operands, `rows` is a `Rows`, and `SHAPE`
    holds constants such as the width of a state.

    Args:
        name: what profilers call its kernels.
        read: (x, rows, SHAPE), what is known of the rows themselves, for the other three.
        gather: (csr, x, rows, known, SHAPE, U), a tuple of sums over entries, U of them at a time.
        join: (x, rows, known, parts, SHAPE), write a long row; `parts` are its segments' sums.
        finish: (x, rows, known, sums, SHAPE), write rows whose sums are complete.
    """

    def __init__(self, name: str, *, read: Any, gather: Any, join: Any, finish: Any) -> None:
        functions = {"READ": read, "GATHER": gather, "JOIN": join, "FINISH": finish}
        self._short_rows = _kernel(_short_rows, name, functions)
        self._segments = _kernel(_segments, name, functions)
        self._joined_rows = _kernel(_joined_rows, name, functions)

    def run(
        self,
        csr: Csr,
        long: LongRows,
        x: tuple[Any, ...],
        shape: Any,
        *,
        out: Tensor,
        widths: tuple[int, ...],
    ) -> None:
        """Launch the kernels over the rows of `out` [R, rows, width].

        `out` has at least `csr.rows` rows; to the others `finish` gives what a row without entries
        gets. `widths` are the numbers that each of the sums of a row takes.
        """
        replicas, rows, width = out.shape
        tile = choose_tile(width, csr.offsets.numel() - 1, csr.columns.numel())
        self._short_rows[(-(-rows // tile.rows), replicas)](
            csr, x, shape, tile, long.limit, num_warps=1
        )
        if not long.count:
            return
        segments = long.segments
        dtype = sum_type(out.dtype)
        parts = tuple(
            torch.empty(replicas, segments, numbers, dtype=dtype, device=out.device)
            for numbers in widths
        )
        operands = _Long(
            long.rows, long.first, long.segment_rows, long.segment_bounds, segments, parts
        )
        entries = choose_tile(width, 1, long.limit).entries
        self._segments[(segments, replicas)](csr, x, operands, shape, entries, num_warps=1)
        self._joined_rows[(long.count, replicas)](csr, x, operands, shape, num_warps=1)


def _kernel(driver: Any, name: str, functions: dict[str, Any]) -> Kernel:
    """Return a kernel of one operation: a driver whose global names are that one's functions.

    As arguments of the kernel they would cost time at every launch.
    """
    function = FunctionType(driver.__code__, {**driver.__globals__, **functions})
    function.__qualname__ = name + driver.__name__
    function.__annotations__ = driver.__annotations__
    function.__module__ = driver.__module__
    return Kernel(function)


def csr_of(graph: Graph, count: int, weights: Tensor | None = None) -> Csr:
    """Return the first `count` rows of a graph, with weights by edge if there are any."""
    return Csr(graph.offsets, graph.columns, weights, count)
