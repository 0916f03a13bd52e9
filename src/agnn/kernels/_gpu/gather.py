"""What the sparse programs of a GPU read: rows, their entries, and the lines these name."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rows_of(lines, i, present, WIDTH: tl.constexpr, D: tl.constexpr):
    """Lines `i`, of any shape, of [., WIDTH] in the type that sums are kept in; else zero."""
    d = tl.arange(0, D)
    places = i.expand_dims(-1) * WIDTH + d
    inside = present.expand_dims(-1) & (d < WIDTH)
    rows = tl.load(lines + places, mask=inside, other=0.0)
    return rows if rows.dtype == tl.float64 else rows.to(tl.float32)


@triton.jit
def heads_of_rows(lines, i, present, WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr):
    """Lines `i`, of any shape, of [., WIDTH] by head: [..., F, K], column f K + k at (f, k)."""
    column = tl.arange(0, F)[:, None] * K + tl.arange(0, K)[None, :]
    places = i.expand_dims(-1).expand_dims(-1) * WIDTH + column
    inside = present.expand_dims(-1).expand_dims(-1) & (column < WIDTH)
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


# Long rows, in three programs per operation: `..._rows` goes through the short rows, `..._segment`
# through one segment of a long row, and `..._joined` adds up the segments of one long row in their
# order. What the three have to find out is defined here, once.


@triton.jit
def rows_of_program(offsets, count, LIMIT: tl.constexpr, B: tl.constexpr):
    """The replica of a program and its rows [B] among the first `count`.

    Also whether each row is there and short, whether it is short, where its entries begin, and
    how many there are. A row of more than LIMIT entries is left to its segments.
    """
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    inside = i < count
    begin, length = bounds_of(offsets, i, inside)
    short = length <= LIMIT
    present = inside & short
    return r, i, present, short, begin, tl.where(present, length, 0)


@triton.jit
def segment_of_program(segment_rows, bounds, segments):
    """The replica of a program, and of its segment the place, row, begin and length; each [1]."""
    s, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    one = tl.arange(0, 1)
    begin = tl.load(bounds + s + one)
    length = (tl.load(bounds + segments + s + one) - begin).to(tl.int32)
    return r, r * segments + s + one, tl.load(segment_rows + s + one), begin, length


@triton.jit
def long_row_of_program(long_rows, first, segments):
    """The replica of a program, its long row [1], and the places where its segments begin, end."""
    k, r = tl.program_id(0), tl.program_id(1).to(tl.int64)
    begin, end = r * segments + tl.load(first + k), r * segments + tl.load(first + k + 1)
    return r, tl.load(long_rows + k + tl.arange(0, 1)), begin, end
