"""The linear map of squashed features on a GPU: rows forward, columns backward.

Entries are squashed on the way, nothing is stored for them. The sums of a row or column too long
for one program are made segment by segment and joined in order: no atomics.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import FeatureMatrix
from agnn.kernels._gpu.gather import (
    entries_of,
    long_row_of_program,
    rows_of,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import choose_tile, sum_type


@triton.jit
def _tanh(x):
    """The hyperbolic tangent, to the last few bits: near zero its series, else by exponentials."""
    e = tl.exp(-2.0 * tl.abs(x))
    far = (1.0 - e) / (1.0 + e)
    y = x * x
    near = 1.0 + y * (-1 / 3 + y * (2 / 15 + y * (-17 / 315 + y * (62 / 2835 + y * (
        -1382 / 155925 + y * (21844 / 6081075))))))  # fmt: skip
    return tl.where(tl.abs(x) < 0.15, x * near, tl.where(x < 0, -far, far))


@triton.jit
def _row_sums(
    columns, values, scale, weight, begin, length,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """Sums over the given entries of some rows [B] of tanh(s_f x) w_f; [B, D]."""
    acc = tl.zeros((B, U, D), SUM)
    for k in range(0, tl.max(length, 0), U):
        f, there = entries_of(columns, begin, length, k, U)
        place = begin[:, None] + k + tl.arange(0, U)[None, :]
        value = tl.load(values + place, mask=there, other=0.0)
        squashed = _tanh(value * tl.load(scale + f, mask=there, other=0.0))
        acc += squashed[:, :, None] * rows_of(weight, f, there, WIDTH, D)
    return tl.sum(acc, 1)


@triton.jit
def _store(out, found, line, present, WIDTH: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    place = line[:, None] * WIDTH + d[None, :]
    tl.store(out + place, found, mask=present[:, None] & (d < WIDTH)[None, :])


@Program
def _rows(
    offsets, columns, values, scale, weight, bias, out, features, rows,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica."""
    wait_for_inputs(EARLY)
    r, i, present, _, begin, length = rows_of_program(offsets, rows, LIMIT, B)
    sums = rows_of(bias, r + i * 0, present, WIDTH, D)
    sums += _row_sums(
        columns, values, scale + r * features, weight + r * features * WIDTH, begin, length,
        WIDTH, D, B, U, SUM,
    )  # fmt: skip
    _store(out, sums, r * rows + i, present, WIDTH, D)


@Program
def _row_segment(
    segment_rows, bounds, columns, values, scale, weight, parts, features, segments,
    WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr, SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sum of one segment of a long row of one replica."""
    wait_for_inputs(EARLY)
    r, place, _, begin, length = segment_of_program(segment_rows, bounds, segments)
    sums = _row_sums(
        columns, values, scale + r * features, weight + r * features * WIDTH, begin, length,
        WIDTH, D, 1, U, SUM,
    )  # fmt: skip
    _store(parts, sums, place, place >= 0, D, D)


@Program
def _row_joined(
    long_rows,
    first,
    bias,
    parts,
    out,
    rows,
    segments,
    WIDTH: tl.constexpr,
    D: tl.constexpr,
    EARLY: tl.constexpr,
):
    """One long row of one replica from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, i, begin, end = long_row_of_program(long_rows, first, segments)
    one = tl.arange(0, 1)
    sums = rows_of(bias, r + one, one == 0, WIDTH, D)
    for s in range(begin, end):
        sums += rows_of(parts, s + one, one == 0, D, D)
    _store(out, sums, r * rows + i, one == 0, WIDTH, D)


@triton.jit
def _column_sums(
    rows, values, scale, weight, gradient, f, begin, length, present,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """Over the given entries of columns f [B]: the gradients at the weights [B, D], at s [B]."""
    s = tl.load(scale + f, mask=present, other=0.0)[:, None]
    w = rows_of(weight, f, present, WIDTH, D)[:, None, :]
    of_weight, of_scale = tl.zeros((B, U, D), SUM), tl.zeros((B, U), SUM)
    for k in range(0, tl.max(length, 0), U):
        i, there = entries_of(rows, begin, length, k, U)
        place = begin[:, None] + k + tl.arange(0, U)[None, :]
        value = tl.load(values + place, mask=there, other=0.0)
        squashed, slopes = _tanh(value * s), rows_of(gradient, i, there, WIDTH, D)
        of_weight += squashed[:, :, None] * slopes
        of_scale += tl.sum(slopes * w, 2) * (1.0 - squashed * squashed) * value
    return tl.sum(of_weight, 1), tl.sum(of_scale, 1)


@Program
def _columns(
    offsets, entries, values, scale, weight, gradient, dscale, dweight, features, rows,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The gradients at B columns of one replica."""
    wait_for_inputs(EARLY)
    r, f, present, _, begin, length = rows_of_program(offsets, features, LIMIT, B)
    of_weight, of_scale = _column_sums(
        entries, values, scale + r * features, weight + r * features * WIDTH,
        gradient + r * rows * WIDTH, f, begin, length, present, WIDTH, D, B, U, SUM,
    )  # fmt: skip
    _store(dweight, of_weight, r * features + f, present, WIDTH, D)
    tl.store(dscale + r * features + f, of_scale, mask=present)


@Program
def _column_segment(
    segment_columns, bounds, entries, values, scale, weight, gradient, parts, scale_parts,
    features, rows, segments, WIDTH: tl.constexpr, D: tl.constexpr, U: tl.constexpr,
    SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sums of one segment of a long column of one replica."""
    wait_for_inputs(EARLY)
    r, place, f, begin, length = segment_of_program(segment_columns, bounds, segments)
    of_weight, of_scale = _column_sums(
        entries, values, scale + r * features, weight + r * features * WIDTH,
        gradient + r * rows * WIDTH, f, begin, length, f >= 0, WIDTH, D, 1, U, SUM,
    )  # fmt: skip
    _store(parts, of_weight, place, place >= 0, D, D)
    tl.store(scale_parts + place, of_scale)


@Program
def _column_joined(
    long_columns, first, parts, scale_parts, dscale, dweight, features, segments,
    WIDTH: tl.constexpr, D: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The gradients at one long column from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, f, begin, end = long_row_of_program(long_columns, first, segments)
    one = tl.arange(0, 1)
    of_weight = tl.zeros((1, D), parts.dtype.element_ty)
    of_scale = tl.zeros((1,), parts.dtype.element_ty)
    for s in range(begin, end):
        of_weight += rows_of(parts, s + one, one == 0, D, D)
        of_scale += tl.load(scale_parts + s + one)
    _store(dweight, of_weight, r * features + f, one == 0, WIDTH, D)
    tl.store(dscale + r * features + f, of_scale)


def forward(x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(X diag(scale)) W + b; [R, n, k]."""
    s, w, b = (each.detach().contiguous() for each in (scale, weight, bias))
    (replicas, features, outputs), long = w.shape, x.long_rows
    exact, dtype = _exact(w)
    out = w.new_empty(replicas, x.rows, outputs)
    tile = choose_tile(outputs, x.rows, x.columns.numel())
    _rows[(-(-x.rows // tile.rows), replicas)](
        x.offsets, x.columns, x.values, s, w, b, out, features, x.rows, long.limit, outputs,
        tile.columns, tile.rows, tile.entries, exact, num_warps=1,
    )  # fmt: skip
    if long.count:
        tile = choose_tile(outputs, 1, long.limit)
        parts = w.new_empty(replicas, long.segments, tile.columns, dtype=dtype)
        _row_segment[(long.segments, replicas)](
            long.segment_rows, long.segment_bounds, x.columns, x.values, s, w, parts, features,
            long.segments, outputs, tile.columns, tile.entries, exact, num_warps=1,
        )  # fmt: skip
        _row_joined[(long.count, replicas)](
            long.rows, long.first, b, parts, out, x.rows, long.segments, outputs, tile.columns,
            num_warps=1,
        )  # fmt: skip
    return out


def backward(
    x: FeatureMatrix, scale: Tensor, weight: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at the scale [R, d_x], the weight [R, d_x, k] and the bias [R, k]."""
    s, w, g = (each.detach().contiguous() for each in (scale, weight, gradient))
    (replicas, features, outputs), long = w.shape, x.long_columns
    offsets, entries, values = x.by_column
    exact, dtype = _exact(w)
    dscale, dweight = torch.empty_like(s), torch.empty_like(w)
    tile = choose_tile(outputs, features, entries.numel())
    _columns[(-(-features // tile.rows), replicas)](
        offsets, entries, values, s, w, g, dscale, dweight, features, x.rows, long.limit, outputs,
        tile.columns, tile.rows, tile.entries, exact, num_warps=1,
    )  # fmt: skip
    if long.count:
        tile = choose_tile(outputs, 1, long.limit)
        parts = w.new_empty(replicas, long.segments, tile.columns, dtype=dtype)
        scale_parts = parts.new_empty(replicas, long.segments)
        _column_segment[(long.segments, replicas)](
            long.segment_rows, long.segment_bounds, entries, values, s, w, g, parts, scale_parts,
            features, x.rows, long.segments, outputs, tile.columns, tile.entries, exact,
            num_warps=1,
        )  # fmt: skip
        _column_joined[(long.count, replicas)](
            long.rows, long.first, parts, scale_parts, dscale, dweight, features, long.segments,
            outputs, tile.columns, num_warps=1,
        )  # fmt: skip
    return dscale, dweight, summed(g)


def _exact(weight: Tensor) -> tuple[tl.dtype, torch.dtype]:
    """The type of sums, for programs and for memory."""
    dtype = sum_type(weight.dtype)
    return (tl.float64 if dtype == torch.float64 else tl.float32), dtype
