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
from agnn.kernels._gpu.gather import bounds_of
from agnn.kernels._gpu.launches import Kernel, wait_for_inputs
from agnn.kernels._gpu.tiles import choose_tile, sum_type

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
