"""The linear map of shared dense features on a GPU: dropout drawn on the way to the product."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import DenseFeatures
from agnn.kernels import _shared_linear as reference
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._dropout.triton_cuda import Draw, draw_of, factors, stream_of
from agnn.kernels._gpu.launches import Kernel, power_of_two, sum_parts, wait_for_inputs
from agnn.kernels._gpu.rows import store_rows

_ROWS = 64  # of X that a block looks at together
_COLUMNS = 32  # of X likewise
_CHUNK = 8192  # rows that a block sums the gradient of W over
_WIDEST = 256  # states that a block holds


class _Shape(NamedTuple):
    FEATURES: int
    WIDTH: int  # of the states
    D: int  # the width, filled up to a power of two
    ROWS: int
    COLUMNS: int


class _Forward(NamedTuple):
    """The operands."""

    x: Tensor  # [n, d_x]
    weight: Tensor  # [R, d_x, d]
    bias: Tensor | None  # [R, d]
    draw: Draw | None
    out: Tensor  # [R, n, d]
    n: int


class _Backward(NamedTuple):
    """The operands."""

    x: Tensor  # [n, d_x]
    gradient: Tensor  # [R, n, d]
    draw: Draw | None
    parts: Tensor  # [R, chunks, d_x d]
    n: int


@triton.jit
def _dropped_tile(operands, stream, i, c, SHAPE: tl.constexpr):
    """Rows i [B] and columns c [C] of dropout(X) of one replica; [B, C] float32."""
    inside = (i < operands.n)[:, None] & (c < SHAPE.FEATURES)[None, :]
    places = i[:, None] * SHAPE.FEATURES + c[None, :]
    values = tl.load(operands.x + places, mask=inside, other=0.0).to(tl.float32)
    if operands.draw is not None:
        row = tl.load(operands.draw.row_ids + i, mask=i < operands.n, other=0)
        values *= factors(operands.draw, stream, row[:, None], c[None, :]).to(tl.float32)
    return values


@Kernel
def _forward(operands, SHAPE: tl.constexpr, EARLY: tl.constexpr):
    """Some rows of one replica."""
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    D: tl.constexpr = SHAPE.D
    ROWS: tl.constexpr = SHAPE.ROWS
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    weight = operands.weight + r * SHAPE.FEATURES * WIDTH
    stream = stream_of(operands.draw, r)
    acc = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, SHAPE.FEATURES, SHAPE.COLUMNS):
        c = start + tl.arange(0, SHAPE.COLUMNS)
        values = _dropped_tile(operands, stream, i, c, SHAPE)
        inside = (c < SHAPE.FEATURES)[:, None] & (d < WIDTH)[None, :]
        w = tl.load(weight + c[:, None] * WIDTH + d[None, :], mask=inside, other=0.0)
        acc = tl.dot(values, w, acc, input_precision="ieee")
    if operands.bias is not None:
        acc += tl.load(operands.bias + r * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
    store_rows(operands.out, r * operands.n + i, acc, i < operands.n, WIDTH)


@Kernel
def _backward(operands, SHAPE: tl.constexpr, CHUNK: tl.constexpr, EARLY: tl.constexpr):
    """What CHUNK rows add to some rows of one replica's gradient at W."""
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    D: tl.constexpr = SHAPE.D
    COLUMNS: tl.constexpr = SHAPE.COLUMNS
    n = operands.n
    chunk = tl.program_id(0).to(tl.int64)
    r = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    d = tl.arange(0, D)
    stream = stream_of(operands.draw, r)
    acc = tl.zeros((COLUMNS, D), tl.float32)
    for step in range(0, tl.minimum(CHUNK, n - chunk * CHUNK), SHAPE.ROWS):
        i = chunk * CHUNK + step + tl.arange(0, SHAPE.ROWS)
        values = _dropped_tile(operands, stream, i, c, SHAPE)
        place = (r * n + i)[:, None] * WIDTH + d[None, :]
        inside = (i < n)[:, None] & (d < WIDTH)[None, :]
        g = tl.load(operands.gradient + place, mask=inside, other=0.0).to(tl.float32)
        acc = tl.dot(tl.trans(values), g, acc, input_precision="ieee")
    place = (r * tl.num_programs(0) + chunk) * SHAPE.FEATURES + c
    store_rows(operands.parts, place, acc, c < SHAPE.FEATURES, WIDTH)


def _is_ours(dtype: torch.dtype, width: int) -> bool:
    """Whether the kernels above do it; in double precision and very wide, torch does."""
    return dtype == torch.float32 and width <= _WIDEST


def forward(
    x: DenseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    replicas, _, width = weight.shape
    if not _is_ours(weight.dtype, width):
        return reference.forward(x, weight, bias, drop)
    out = weight.new_empty(replicas, x.rows, width)
    operands = _Forward(
        x.values.contiguous(),
        weight.detach().contiguous(),
        None if bias is None else bias.detach().contiguous(),
        draw_of(x.row_ids, drop),
        out,
        x.rows,
    )
    _forward[(-(-x.rows // _ROWS), replicas)](operands, _shape(x, width))
    return out


def backward(x: DenseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    replicas, n, width = gradient.shape
    if not _is_ours(gradient.dtype, width):
        return reference.backward(x, gradient, drop)
    g = gradient.contiguous()
    chunks = -(-n // _CHUNK)
    parts = g.new_empty(replicas, chunks, x.width * width)
    operands = _Backward(x.values.contiguous(), g, draw_of(x.row_ids, drop), parts, n)
    grid = (chunks, -(-x.width // _COLUMNS), replicas)
    _backward[grid](operands, _shape(x, width), _CHUNK)
    return sum_parts(parts).view(replicas, x.width, width), sum_parts(g)


def _shape(x: DenseFeatures, width: int) -> _Shape:
    return _Shape(x.width, width, max(16, power_of_two(width)), _ROWS, _COLUMNS)
