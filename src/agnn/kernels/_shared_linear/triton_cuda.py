"""The linear map of shared dense features on a GPU: dropout drawn on the way to the product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import DenseFeatures
from agnn.kernels import _shared_linear as reference
from agnn.kernels._dropout.triton_cuda import epoch_state, factors
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import power_of_two

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

_ROWS = 64  # of X that a program looks at together
_COLUMNS = 32  # of X likewise
_CHUNK = 8192  # rows that a program sums the gradient of W over
_WIDEST = 256  # states that a program holds


@triton.jit
def _kept(
    x, row_ids, keys, thresholds, scales, r, state, i, c, n,
    DROPPED: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    """Rows i [B] and columns c [C] of dropout(X) of one replica; [B, C] float32."""
    inside = (i < n)[:, None] & (c < FEATURES)[None, :]
    values = tl.load(x + i[:, None] * FEATURES + c[None, :], mask=inside, other=0.0).to(tl.float32)
    if DROPPED:
        row = tl.load(row_ids + i, mask=i < n, other=0)
        factor = factors(keys, thresholds, scales, r, state, row[:, None], c[None, :])
        values *= factor.to(tl.float32)
    return values


@Program
def _forward(
    x, weight, bias, row_ids, keys, thresholds, scales, epoch, out, n,
    BIASED: tl.constexpr, DROPPED: tl.constexpr, FEATURES: tl.constexpr, WIDTH: tl.constexpr,
    D: tl.constexpr, B: tl.constexpr, C: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i, d = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.arange(0, D)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, FEATURES, C):
        c = start + tl.arange(0, C)
        values = _kept(
            x, row_ids, keys, thresholds, scales, r, state, i, c, n, DROPPED, FEATURES
        )  # fmt: skip
        w = tl.load(
            weight + r * FEATURES * WIDTH + c[:, None] * WIDTH + d[None, :],
            mask=(c < FEATURES)[:, None] & (d < WIDTH)[None, :], other=0.0,
        )  # fmt: skip
        acc = tl.dot(values, w, acc, input_precision="ieee")
    if BIASED:
        acc += tl.load(bias + r * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(out + place, acc, mask=(i < n)[:, None] & (d < WIDTH)[None, :])


@Program
def _backward(
    x, gradient, row_ids, keys, thresholds, scales, epoch, parts, n, chunks,
    DROPPED: tl.constexpr, FEATURES: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
    B: tl.constexpr, C: tl.constexpr, CHUNK: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """What CHUNK rows add to C rows of one replica's gradient at W."""
    wait_for_inputs(EARLY)
    chunk, r = tl.program_id(0).to(tl.int64), tl.program_id(2).to(tl.int64)
    c, d = tl.program_id(1) * C + tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    acc = tl.zeros((C, D), tl.float32)
    for step in range(0, tl.minimum(CHUNK, n - chunk * CHUNK), B):
        i = chunk * CHUNK + step + tl.arange(0, B)
        values = _kept(
            x, row_ids, keys, thresholds, scales, r, state, i, c, n, DROPPED, FEATURES
        )  # fmt: skip
        g = tl.load(
            gradient + (r * n + i)[:, None] * WIDTH + d[None, :],
            mask=(i < n)[:, None] & (d < WIDTH)[None, :], other=0.0,
        ).to(tl.float32)  # fmt: skip
        acc = tl.dot(tl.trans(values), g, acc, input_precision="ieee")
    place = ((r * chunks + chunk) * FEATURES + c)[:, None] * WIDTH + d[None, :]
    tl.store(parts + place, acc, mask=(c < FEATURES)[:, None] & (d < WIDTH)[None, :])


def _draws(x: DenseFeatures, drop: DropoutAt | None) -> tuple[Tensor, ...]:
    if drop is None:
        return (x.row_ids,) * 5  # not read
    return x.row_ids, drop.keys, drop.thresholds, drop.scales, drop.epoch


def _is_ours(dtype: torch.dtype, width: int) -> bool:
    """Whether the programs above do it; in double precision and very wide, torch does."""
    return dtype == torch.float32 and width <= _WIDEST


def forward(
    x: DenseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    replicas, features, width = weight.shape
    if not _is_ours(weight.dtype, width):
        return reference.forward(x, weight, bias, drop)
    out = weight.new_empty(replicas, x.rows, width)
    _forward[(-(-x.rows // _ROWS), replicas)](
        x.values.contiguous(), weight.detach().contiguous(),
        out if bias is None else bias.detach().contiguous(), *_draws(x, drop), out, x.rows,
        bias is not None, drop is not None, features, width, max(16, power_of_two(width)), _ROWS,
        _COLUMNS,
    )  # fmt: skip
    return out


def backward(x: DenseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    replicas, n, width = gradient.shape
    if not _is_ours(gradient.dtype, width):
        return reference.backward(x, gradient, drop)
    g = gradient.contiguous()
    chunks = -(-n // _CHUNK)
    parts = g.new_empty(replicas, chunks, x.width * width)
    _backward[(chunks, -(-x.width // _COLUMNS), replicas)](
        x.values.contiguous(), g, *_draws(x, drop), parts, n, chunks, drop is not None, x.width,
        width, max(16, power_of_two(width)), _ROWS, _COLUMNS, _CHUNK,
    )  # fmt: skip
    return summed(parts).view(replicas, x.width, width), summed(g)
