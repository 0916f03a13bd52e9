"""The linear map of shared dense features on the CPU: compiled dropout, torch's matrix product.

Replica by replica: the dropped features of all replicas at once would be the largest thing there.
Where most entries of a column are the same number, X = 1 b^T + E with a sparse E (`usual`), only E
and the entries of 1 b^T that dropout sets to zero, or those that it keeps, are gone through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from agnn.graph import DenseFeatures, UsualNumbers
from agnn.kernels._cpu.simd import (
    LANES,
    add,
    bits_of,
    inline,
    load,
    splat,
    store,
    trailing_zeros,
)
from agnn.kernels._cpu.threads import (
    as_lines,
    pieces_of,
    run_by_rows,
    threads_for,
    without_padding,
)
from agnn.kernels._dropout import DropoutAt, numba_cpu as dropout
from agnn.kernels._dropout.numba_cpu import draw_of, drop_operands, is_kept, row_state
from agnn.kernels._runtime.memory import new_tensor
from agnn.kernels._sparse_linear import numba_cpu as sparse_linear

U = np.uint64
_LANES = U(LANES)
_FOUR = U(4 * LANES)
_HALF = np.uint32(2**31)
_COLUMNS = U(64)  # whose rows of the weight stay in the nearest cache


@inline
def _list_columns(draw: Any, labels: Any, begin: Any, end: Any, flags: Any, out: Any) -> None:
    """The fewer of the columns that each row drops and keeps, as bits from `begin` on.

    `flags` are 64 bytes to work on, zero from the number of columns on. All rows come first: what
    follows a row's bits is a loop of unknown length, and a wrong guess would stop its hash.
    """
    are_kept = draw.threshold > _HALF
    for i in range(labels.size):
        words = row_state(draw.key, draw.state, labels[i])
        for t in range(end - begin):  # not into the word at once: of this LLVM makes vectors
            flags[t] = is_kept(words, t + begin, draw.threshold) == are_kept
        out[i] = bits_of(flags)


@inline
def _listed_sums(operands: Any, r: Any, first: Any, last: Any) -> None:
    """Add the listed rows of `sources` to those rows of `out` that they were listed for."""
    sources, d, width, labels, drop, lines = operands
    source = sources[r]
    out = lines[r]
    draw = draw_of(drop, r, source)
    words = np.empty(last - first, np.uint64)
    for begin in range(U(0), U(width), _COLUMNS):
        end = min(begin + _COLUMNS, U(width))
        flags = np.zeros(_COLUMNS, np.uint8)
        _list_columns(draw, labels[first:last], begin, end, flags, words)
        for i in range(first, last):
            listed = words[i - first]
            at = i * U(d)
            k = U(0)
            while k + _FOUR <= U(d):  # four sums at a time: one would wait for its last addition
                a0 = load(out, at + k)
                a1 = load(out, at + k + _LANES)
                a2 = load(out, at + k + U(2) * _LANES)
                a3 = load(out, at + k + U(3) * _LANES)
                left = listed
                while left:
                    row = (begin + trailing_zeros(left)) * U(d) + k
                    left &= left - U(1)
                    a0 = add(a0, load(source, row))
                    a1 = add(a1, load(source, row + _LANES))
                    a2 = add(a2, load(source, row + U(2) * _LANES))
                    a3 = add(a3, load(source, row + U(3) * _LANES))
                store(out, at + k, a0)
                store(out, at + k + _LANES, a1)
                store(out, at + k + U(2) * _LANES, a2)
                store(out, at + k + U(3) * _LANES, a3)
                k += _FOUR
            while k < U(d):
                a0 = load(out, at + k)
                left = listed
                while left:
                    a0 = add(a0, load(source, (begin + trailing_zeros(left)) * U(d) + k))
                    left &= left - U(1)
                store(out, at + k, a0)
                k += _LANES


@inline
def _sums_by_column(operands: Any, r: Any, first: Any, last: Any) -> None:
    """Rows of `out`, one for each column: the sum of the gradients of the rows that list it."""
    gradients, d, order, labels, drop, lines = operands
    gradient = gradients[r]
    out = lines[r]
    draw = draw_of(drop, r, gradient)
    zero = gradient.dtype.type(0)
    words = np.empty(labels.size, np.uint64)
    for begin in range(first, last, _COLUMNS):
        end = min(begin + _COLUMNS, last)
        flags = np.zeros(_COLUMNS, np.uint8)
        _list_columns(draw, labels, begin, end, flags, words)
        for at in range(begin * U(d), end * U(d), _LANES):
            store(out, at, splat(zero))
        for i in order:
            listed = words[i]
            k = U(0)
            while k + _FOUR <= U(d):
                s0 = load(gradient, i * U(d) + k)
                s1 = load(gradient, i * U(d) + k + _LANES)
                s2 = load(gradient, i * U(d) + k + U(2) * _LANES)
                s3 = load(gradient, i * U(d) + k + U(3) * _LANES)
                left = listed
                while left:
                    at = (begin + trailing_zeros(left)) * U(d) + k
                    left &= left - U(1)
                    store(out, at, add(load(out, at), s0))
                    store(out, at + _LANES, add(load(out, at + _LANES), s1))
                    at += U(2) * _LANES
                    store(out, at, add(load(out, at), s2))
                    store(out, at + _LANES, add(load(out, at + _LANES), s3))
                k += _FOUR
            while k < U(d):
                s0 = load(gradient, i * U(d) + k)
                left = listed
                while left:
                    at = (begin + trailing_zeros(left)) * U(d) + k
                    left &= left - U(1)
                    store(out, at, add(load(out, at), s0))
                k += _LANES


def _is_kept_listed(drop: DropoutAt) -> list[bool]:
    """Return for each replica whether the kept columns are the fewer; the dropped ones if not."""
    threshold = drop.arrays[1]
    return [bool(limit > _HALF) for limit in threshold]


def _forward_usual(
    usual: UsualNumbers, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(1 b^T + E) W + bias; [R, n, d]."""
    replicas, width, d = weight.shape
    rows = weight.detach() * usual.numbers[:, None]  # b_j W_j; [R, d_x, d]
    # One replica after the other: torch sums a batch in another order than one alone.
    totals = torch.stack([of_replica.sum(0) for of_replica in rows])
    if drop is None:
        start = totals if bias is None else totals + bias.detach()
        return sparse_linear.forward(usual.exceptions, weight, start, None)
    exceptions = sparse_linear.forward(usual.exceptions, weight, bias, drop)
    n = exceptions.shape[1]
    scales = drop.scales.to(weight.dtype)[:, None, None]
    are_kept = torch.tensor(_is_kept_listed(drop))[:, None, None]
    # Start from all or from none of the columns; the scale is the same for all that are kept.
    rows.mul_(torch.where(are_kept, scales, -scales))
    exceptions += torch.where(are_kept, 0.0, scales * totals[:, None])
    lines, padded = as_lines(rows)
    out, _ = as_lines(exceptions)
    labels = usual.exceptions.row_ids.numpy().astype(np.uint32)
    operands = (lines, padded, width, labels, drop_operands(drop), out)
    run_by_rows(_listed_sums, operands, replicas, n, replicas * n * width * padded // 256)
    return without_padding(torch.from_numpy(out.reshape(replicas, n, padded)), d)


def _backward_usual(
    usual: UsualNumbers, gradient: Tensor, drop: DropoutAt | None
) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    dweight, dbias = sparse_linear.backward(usual.exceptions, gradient, drop)
    numbers = usual.numbers[:, None]
    if drop is None:
        return dweight.add_(numbers * dbias[:, None]), dbias
    replicas, _, d = gradient.shape
    slopes, padded = as_lines(gradient)
    width = numbers.shape[0]
    sums = new_tensor(replicas, width, padded, dtype=gradient.dtype)
    labels = usual.exceptions.row_ids.numpy().astype(np.uint32)
    operands = (
        slopes,
        padded,
        usual.exceptions.summation_order,
        labels,
        drop_operands(drop),
        sums.numpy().reshape(replicas, -1),
    )
    cost = replicas * labels.size * width * padded // 256
    pieces = threads_for(cost) if pieces_of(replicas, cost) > 1 else 1
    run_by_rows(_sums_by_column, operands, replicas, width, cost, pieces=pieces)
    listed = sums[:, :, :d]
    are_kept = torch.tensor(_is_kept_listed(drop))[:, None, None]
    kept = torch.where(are_kept, listed, dbias[:, None] - listed)
    scales = drop.scales.to(gradient.dtype)[:, None, None]
    return dweight.add_(kept.mul_(scales * numbers)), dbias


def _features_after_dropout(
    x: DenseFeatures, like: Tensor, drop: DropoutAt | None, replica: int
) -> Tensor:
    """dropout(X) of one replica; [n, d_x]."""
    values = x.values.to(like.dtype)
    if drop is None:
        return values
    return dropout.forward(values[None], x.row_ids, drop.of_replica(replica))[0]


def forward(
    x: DenseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    if x.usual is not None and x.dtype == weight.dtype:
        return _forward_usual(x.usual, weight, bias, drop)
    replicas, _, d = weight.shape
    out = new_tensor(replicas, x.rows, d, dtype=weight.dtype)
    for r in range(replicas):
        torch.mm(_features_after_dropout(x, weight, drop, r), weight[r].detach(), out=out[r])
    return out if bias is None else out.add_(bias.detach()[:, None])


def backward(x: DenseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    if x.usual is not None and x.dtype == gradient.dtype:
        return _backward_usual(x.usual, gradient, drop)
    slopes = [
        torch.mm(_features_after_dropout(x, gradient, drop, r).T, gradient[r])
        for r in range(gradient.shape[0])
    ]
    # One replica after the other here, too: torch sums a batch in another order than one alone.
    return torch.stack(slopes), torch.stack([of_replica.sum(0) for of_replica in gradient])
