"""The dense linear map on a GPU.

With few states and few outputs (the last layer of a model) a block holds the whole of W. Wide
maps are matrix products, and torch's are hard to beat; only their dropout is ours.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels import _dense_linear as reference
from agnn.kernels._dropout import DropoutAt, triton_cuda as dropout
from agnn.kernels._dropout.triton_cuda import Draw, draw_of, factors, stream_of
from agnn.kernels._gpu.launches import Kernel, power_of_two, sum_parts, wait_for_inputs
from agnn.kernels._gpu.rows import raw_rows, store_rows

_SMALL = 512  # numbers of W, filled up to powers of two, that a block holds
_ROWS = 32  # rows of H that a block looks at together
_CHUNK = 256  # rows that a block sums the gradient of W over
_FEW = 2048  # rows: up to so many, a block sums over _ROWS only, so that none has far to go


class _Shape(NamedTuple):
    WIDTH: int  # of the states
    D: int  # filled up to a power of two
    OUT: int  # outputs
    K: int  # filled up likewise
    ROWS: int


class _Layer(NamedTuple):
    """The operands."""

    h: Tensor  # [R, n, d]
    weight: Tensor  # [R, d, k]
    bias: Tensor | None  # [R, k]
    draw: Draw | None
    n: int


class _Gradients(NamedTuple):
    """Where the backward pass writes."""

    dh: Tensor  # [R, n, d]
    weights: Tensor  # [R, chunks, d k]
    biases: Tensor  # [R, chunks, k]


@triton.jit
def _states(x, stream, i, SHAPE: tl.constexpr):
    """Rows i of one replica's states, and the factors of dropout; each [B, D]."""
    states = raw_rows(x.h, stream.r * x.n + i, i < x.n, SHAPE.WIDTH, SHAPE.D)
    factor = tl.full(states.shape, 1.0, states.dtype)
    if x.draw is not None:
        row = tl.load(x.draw.row_ids + i, mask=i < x.n, other=0)
        d = tl.arange(0, SHAPE.D)
        factor = factors(x.draw, stream, row[:, None], d[None, :]).to(states.dtype)
    return states, factor


@triton.jit
def _weights(weight, r, SHAPE: tl.constexpr):
    """W of one replica; [D, K]."""
    d = tl.arange(0, SHAPE.D)
    return raw_rows(weight, r * SHAPE.WIDTH + d, d < SHAPE.WIDTH, SHAPE.OUT, SHAPE.K)


@Kernel
def _forward(x, out, SHAPE: tl.constexpr, EARLY: tl.constexpr):
    """Some rows of one replica."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * SHAPE.ROWS + tl.arange(0, SHAPE.ROWS)
    k = tl.arange(0, SHAPE.K)
    states, factor = _states(x, stream_of(x.draw, r), i, SHAPE)
    w = _weights(x.weight, r, SHAPE)
    outputs = tl.sum((states * factor)[:, :, None] * w[None, :, :], 1)
    if x.bias is not None:
        outputs += tl.load(x.bias + r * SHAPE.OUT + k, mask=k < SHAPE.OUT, other=0.0)[None, :]
    store_rows(out, r * x.n + i, outputs, i < x.n, SHAPE.OUT)


@Kernel
def _backward(x, gradient, out, SHAPE: tl.constexpr, CHUNK: tl.constexpr, EARLY: tl.constexpr):
    """The gradient at CHUNK rows of one replica, and their sums for the weight and the bias."""
    wait_for_inputs(EARLY)
    K: tl.constexpr = SHAPE.K
    chunk = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, SHAPE.D)
    k = tl.arange(0, K)
    stream = stream_of(x.draw, r)
    w = _weights(x.weight, r, SHAPE)
    dw = tl.zeros_like(w)
    db = tl.zeros((K,), w.dtype)
    for step in range(0, tl.minimum(CHUNK, x.n - chunk * CHUNK), SHAPE.ROWS):
        i = chunk * CHUNK + step + tl.arange(0, SHAPE.ROWS)
        states, factor = _states(x, stream, i, SHAPE)
        g = raw_rows(gradient, r * x.n + i, i < x.n, SHAPE.OUT, K)
        slopes = tl.sum(g[:, None, :] * w[None, :, :], 2) * factor
        store_rows(out.dh, r * x.n + i, slopes, i < x.n, SHAPE.WIDTH)
        dw += tl.sum((states * factor)[:, :, None] * g[:, None, :], 0)
        db += tl.sum(g, 0)
    part = r * tl.num_programs(0) + chunk
    store_rows(out.weights, part * SHAPE.WIDTH + d, dw, d < SHAPE.WIDTH, SHAPE.OUT)
    tl.store(out.biases + part * SHAPE.OUT + k, db, mask=k < SHAPE.OUT)


def _is_small(weight: Tensor) -> bool:
    return power_of_two(weight.shape[1]) * power_of_two(weight.shape[2]) <= _SMALL


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    if not _is_small(weight):
        kept = h if drop is None else dropout.forward(h, row_ids, drop)
        return reference.forward(kept, weight, bias, row_ids, None)
    layer = _layer(h, weight, bias, draw_of(row_ids, drop))
    out = h.new_empty(h.shape[0], layer.n, weight.shape[2])
    _forward[(-(-layer.n // _ROWS), h.shape[0])](layer, out, _shape(weight))
    return out


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    g = gradient.contiguous()
    if not _is_small(weight):
        dh = torch.bmm(g, weight.mT)
        kept = h
        if drop is not None:
            dh = dropout.backward(dh, row_ids, drop)
            kept = dropout.forward(h, row_ids, drop)
        return dh, torch.bmm(kept.mT, g), sum_parts(g)
    replicas, n, d = h.shape
    k = weight.shape[2]
    chunk = _ROWS if n <= _FEW else _CHUNK
    chunks = -(-n // chunk)
    gradients = _Gradients(
        torch.empty_like(h, memory_format=torch.contiguous_format),
        h.new_empty(replicas, chunks, d * k),
        h.new_empty(replicas, chunks, k),
    )
    layer = _layer(h, weight, None, draw_of(row_ids, drop))
    _backward[(chunks, replicas)](layer, g, gradients, _shape(weight), chunk)
    dweight = sum_parts(gradients.weights).view(replicas, d, k)
    return gradients.dh, dweight, sum_parts(gradients.biases)


def _layer(h: Tensor, weight: Tensor, bias: Tensor | None, draw: Draw | None) -> _Layer:
    start = None if bias is None else bias.detach().contiguous()
    return _Layer(h.detach().contiguous(), weight.detach().contiguous(), start, draw, h.shape[1])


def _shape(weight: Tensor) -> _Shape:
    _, d, k = weight.shape
    return _Shape(d, power_of_two(d), k, power_of_two(k), _ROWS)
