"""What the sparse programs of a GPU read: entries of some rows, and the lines these name."""

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
