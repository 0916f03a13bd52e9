"""What the sparse kernels of a GPU read: rows, their entries, and the lines these name."""

from __future__ import annotations

import triton
import triton.language as tl


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
