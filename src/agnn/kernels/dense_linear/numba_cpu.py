"""The dense linear map in compiled CPU code.

Outputs are few (the classes), so a row of them is one or a few vectors: every state of a row adds
its multiple of a row of W. Sums over rows run in the order of the rows' labels in the whole graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from agnn.kernels.dropout.numba_cpu import KEEP_ALL, epoch_state, is_kept, row_state
from agnn.kernels.lines import as_lines, from_lines, new_lines, start_lines
from agnn.kernels.simd import LANES, compiled, fma, inlined, load, multiply_add, splat, store, total
from agnn.kernels.threads import run_in_pieces

if TYPE_CHECKING:
    from agnn.kernels.dropout.stream import DropoutAt

U = np.uint64
_LANES = U(LANES)


@inlined
def _multipliers(
    dropped: Any, key: Any, state: Any, row: Any, threshold: Any, scale: Any, out: Any
) -> None:
    """What each state of a row is multiplied by."""
    zero, one = out.dtype.type(0), out.dtype.type(1)
    if not dropped:
        out[:] = one
    else:
        words = row_state(key, state, row)
        for t in range(out.size):
            out[t] = scale if is_kept(words, t, threshold) else zero


@compiled
def _forward_replicas(
    h: Any, weight: Any, k: Any, bias: Any, row_ids: Any, dropped: Any, keys: Any,
    thresholds: Any, scales: Any, epoch: Any, out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    _, n, d = h.shape
    multipliers = np.empty(d, h.dtype)
    for r in range(first, last):
        s = r if dropped else 0
        key, threshold, scale = keys[s], thresholds[s], h.dtype.type(scales[s])
        state = epoch_state(key, epoch)
        w, b, o = weight[r], bias[r], out[r]
        for i in range(n):
            _multipliers(dropped, key, state, row_ids[i], threshold, scale, multipliers)
            for c in range(U(0), U(k), _LANES):
                outputs = load(b, c)
                for t in range(U(d)):
                    outputs = fma(h[r, i, t] * multipliers[t], load(w, t * U(k) + c), outputs)
                store(o, U(i) * U(k) + c, outputs)


@compiled
def _backward_replicas(
    h: Any, weight: Any, k: Any, gradient: Any, row_ids: Any, dropped: Any, keys: Any,
    thresholds: Any, scales: Any, epoch: Any, order: Any, dh: Any, dweight: Any, dbias: Any,
    first: Any, last: Any,
) -> None:  # fmt: skip
    d = h.shape[2]
    zero, one = h.dtype.type(0), h.dtype.type(1)
    multipliers = np.empty(d, h.dtype)
    for r in range(first, last):
        s = r if dropped else 0
        key, threshold, scale = keys[s], thresholds[s], h.dtype.type(scales[s])
        state = epoch_state(key, epoch)
        w, g, dw, db = weight[r], gradient[r], dweight[r], dbias[r]
        for i in order:
            _multipliers(dropped, key, state, row_ids[i], threshold, scale, multipliers)
            row = U(i) * U(k)
            for c in range(U(0), U(k), _LANES):
                slopes = load(g, row + c)
                store(db, c, fma(one, slopes, load(db, c)))
                for t in range(U(d)):
                    at = t * U(k) + c
                    store(dw, at, fma(h[r, i, t] * multipliers[t], slopes, load(dw, at)))
            for t in range(U(d)):
                products = splat(zero)
                for c in range(U(0), U(k), _LANES):
                    products = multiply_add(load(w, t * U(k) + c), load(g, row + c), products)
                dh[r, i, t] = total(products) * multipliers[t]


def _draws(row_ids: Tensor, drop: DropoutAt | None) -> tuple[Any, ...]:
    draws = (False, *KEEP_ALL, 0) if drop is None else (True, *drop.arrays, int(drop.epoch))
    return row_ids.numpy(), *draws


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    replicas, n, d = h.shape
    lines, k = as_lines(weight)
    outputs = weight.shape[2]
    out = new_lines(replicas, n, k, h.dtype)
    arguments = (
        h.detach().contiguous().numpy(), lines, k, start_lines(bias, replicas, k, lines),
        *_draws(row_ids, drop), out.numpy(),
    )  # fmt: skip
    run_in_pieces(_forward_replicas, arguments, replicas, replicas * n * d * k // 64)
    return from_lines(out, n, k, outputs)


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    replicas, n, d = h.shape
    outputs = weight.shape[2]
    (lines, k), (slopes, _) = as_lines(weight), as_lines(gradient)
    dh = torch.empty(h.shape, dtype=h.dtype)
    dweight = torch.zeros(lines.shape, dtype=h.dtype)
    dbias = torch.zeros(replicas, k, dtype=h.dtype)
    arguments = (
        h.detach().contiguous().numpy(), lines, k, slopes, *_draws(row_ids, drop),
        np.argsort(row_ids.numpy()), dh.numpy(), dweight.numpy(), dbias.numpy(),
    )  # fmt: skip
    run_in_pieces(_backward_replicas, arguments, replicas, replicas * n * d * k // 16)
    return dh, from_lines(dweight, d, k, outputs), from_lines(dbias, 1, k, outputs)[:, 0]
