"""The dense linear map on a GPU.

With few states and few outputs (the last layer of a model) a program holds the whole of W. Wide
maps are matrix products, and torch's are hard to beat; only their dropout is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels import _dense_linear as reference
from agnn.kernels._dropout import triton_cuda as dropout
from agnn.kernels._dropout.triton_cuda import epoch_state, factors
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import power_of_two

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

_SMALL = 512  # numbers of W, filled up to powers of two, that a program holds
_ROWS = 32  # rows of H that a program looks at together
_CHUNK = 256  # rows that a program sums the gradient of W over
_FEW = 2048  # rows: up to so many, a program sums over _ROWS only, so that none has far to go


@triton.jit
def _states(
    h, row_ids, keys, thresholds, scales, r, state, i,
    n, DROPPED: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Rows i of one replica's states, and the factors of dropout; each [B, D]."""
    d = tl.arange(0, D)
    inside = (i < n)[:, None] & (d < WIDTH)[None, :]
    x = tl.load(h + (r * n + i)[:, None] * WIDTH + d[None, :], mask=inside, other=0.0)
    factor = tl.full(x.shape, 1.0, x.dtype)
    if DROPPED:
        row = tl.load(row_ids + i, mask=i < n, other=0)
        found = factors(keys, thresholds, scales, r, state, row[:, None], d[None, :])
        factor = found.to(x.dtype)
    return x, factor


@triton.jit
def _weights(weight, r, WIDTH: tl.constexpr, D: tl.constexpr, OUT: tl.constexpr, K: tl.constexpr):
    """W of one replica; [D, K]."""
    d, k = tl.arange(0, D), tl.arange(0, K)
    inside = (d < WIDTH)[:, None] & (k < OUT)[None, :]
    return tl.load(weight + r * WIDTH * OUT + d[:, None] * OUT + k[None, :], mask=inside, other=0.0)


@Program
def _forward(
    h, weight, bias, row_ids, keys, thresholds, scales,
    epoch, out, n, BIASED: tl.constexpr, DROPPED: tl.constexpr,
    WIDTH: tl.constexpr, D: tl.constexpr, OUT: tl.constexpr, K: tl.constexpr, B: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i, k = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.arange(0, K)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    x, factor = _states(
        h, row_ids, keys, thresholds, scales, r, state, i, n, DROPPED, WIDTH, D
    )  # fmt: skip
    w = _weights(weight, r, WIDTH, D, OUT, K)
    outputs = tl.sum((x * factor)[:, :, None] * w[None, :, :], 1)
    if BIASED:
        outputs += tl.load(bias + r * OUT + k, mask=k < OUT, other=0.0)[None, :]
    place = (r * n + i)[:, None] * OUT + k[None, :]
    tl.store(out + place, outputs, mask=(i < n)[:, None] & (k < OUT)[None, :])


@Program
def _backward(
    h, weight, gradient, row_ids, keys, thresholds, scales,
    epoch, dh, dweights, dbiases, n, chunks,
    DROPPED: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, OUT: tl.constexpr,
    K: tl.constexpr, B: tl.constexpr, CHUNK: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The gradient at CHUNK rows of one replica, and their sums for the weight and the bias."""
    wait_for_inputs(EARLY)
    chunk, r = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    d, k = tl.arange(0, D), tl.arange(0, K)
    state = tl.zeros((), tl.uint32)
    if DROPPED:
        state = epoch_state(keys, r, epoch)
    w = _weights(weight, r, WIDTH, D, OUT, K)
    dw, db = tl.zeros_like(w), tl.zeros((K,), w.dtype)
    for step in range(0, tl.minimum(CHUNK, n - chunk * CHUNK), B):
        i = chunk * CHUNK + step + tl.arange(0, B)
        x, factor = _states(
            h, row_ids, keys, thresholds, scales, r, state, i, n, DROPPED, WIDTH, D
        )  # fmt: skip
        inside = (i < n)[:, None] & (k < OUT)[None, :]
        g = tl.load(
            gradient + (r * n + i)[:, None] * OUT + k[None, :], mask=inside, other=0.0
        )  # fmt: skip
        slopes = tl.sum(g[:, None, :] * w[None, :, :], 2) * factor
        place = (r * n + i)[:, None] * WIDTH + d[None, :]
        tl.store(dh + place, slopes, mask=(i < n)[:, None] & (d < WIDTH)[None, :])
        dw += tl.sum((x * factor)[:, :, None] * g[:, None, :], 0)
        db += tl.sum(g, 0)
    part = r * chunks + chunk
    inside = (d < WIDTH)[:, None] & (k < OUT)[None, :]
    tl.store(dweights + part * WIDTH * OUT + d[:, None] * OUT + k[None, :], dw, mask=inside)
    tl.store(dbiases + part * OUT + k, db, mask=k < OUT)


def _draws(row_ids: Tensor, drop: DropoutAt | None) -> tuple[Tensor, ...]:
    if drop is None:
        return (row_ids,) * 5  # not read
    return row_ids, drop.keys, drop.thresholds, drop.scales, drop.epoch


def _is_small(weight: Tensor) -> bool:
    return power_of_two(weight.shape[1]) * power_of_two(weight.shape[2]) <= _SMALL


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    if not _is_small(weight):
        kept = h if drop is None else dropout.forward(h, row_ids, drop)
        return reference.forward(kept, weight, bias, row_ids, None)
    (replicas, n, d), k = h.shape, weight.shape[2]
    out = h.new_empty(replicas, n, k)
    _forward[(-(-n // _ROWS), replicas)](
        h.detach().contiguous(), weight.detach().contiguous(),
        out if bias is None else bias.detach().contiguous(), *_draws(row_ids, drop), out, n,
        bias is not None, drop is not None, d, power_of_two(d), k, power_of_two(k), _ROWS,
    )  # fmt: skip
    return out


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    g = gradient.contiguous()
    if not _is_small(weight):
        dh, kept = torch.bmm(g, weight.mT), h
        if drop is not None:
            dh, kept = dropout.backward(dh, row_ids, drop), dropout.forward(h, row_ids, drop)
        return dh, torch.bmm(kept.mT, g), summed(g)
    (replicas, n, d), k = h.shape, weight.shape[2]
    chunk = _ROWS if n <= _FEW else _CHUNK
    chunks = -(-n // chunk)
    dh = torch.empty_like(h, memory_format=torch.contiguous_format)
    dweights = h.new_empty(replicas, chunks, d * k)
    dbiases = h.new_empty(replicas, chunks, k)
    _backward[(chunks, replicas)](
        h.detach().contiguous(), weight.detach().contiguous(), g, *_draws(row_ids, drop), dh,
        dweights, dbiases, n, chunks, drop is not None, d, power_of_two(d), k, power_of_two(k),
        _ROWS, chunk,
    )  # fmt: skip
    return dh, summed(dweights).view(replicas, d, k), summed(dbiases)
