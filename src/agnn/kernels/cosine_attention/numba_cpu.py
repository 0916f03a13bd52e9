"""Cosine attention in compiled CPU code: one pass over the rows each way, nothing kept by edge.

docs/kernels.md derives the backward pass. Because the graph is undirected, row i of the same CSR
holds both the neighbours that i attends to and those that attend to i: each row of the gradient
is written once, by whoever owns the row.

Scores are shifted by the constant max(beta, 0) before the exponential, the largest score a row
with itself in it can have where beta is positive: no row maximum is needed, and e_ij = e_ji. A
zero row attends evenly; it gets the weights 1, since its scores, all 0, may lie far below the
shift.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels.cosine_attention import reference
from agnn.kernels.exponential import exponentials
from agnn.kernels.lines import as_lines, from_lines
from agnn.kernels.simd import (
    LANES,
    compiled,
    fma,
    inlined,
    load,
    multiply_add,
    prefetch,
    scale,
    splat,
    store,
    total,
)
from agnn.kernels.threads import pieces_of, run_in_pieces

U = np.uint64
_ONE, _LANES = U(1), U(LANES)
_AHEAD = U(16)  # edges between asking for a row and reading it
_BLOCK = 256  # edges whose exponentials are taken in one vector loop
# Columns of the facts about a node that its neighbours need, together in 16 bytes.
_INVERSE_NORM, _INVERSE_TOTAL, _SLOPE = U(0), U(1), U(2)
_FACTS = 4
# Below this beta, the constant shift could let a whole row underflow in float32.
_LOWEST_BETA = -40.0


@inlined
def _dot(a: Any, at: Any, b: Any, bt: Any, d: Any) -> Any:
    """a[at : at + d] . b[bt : bt + d]."""
    products = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(a, at + k), load(b, bt + k), products)
    return total(products)


@compiled
def _norms(h: Any, n: Any, d: Any, facts: Any) -> None:
    """1/|h_i| into `facts`, 0 for a zero row."""
    zero = h.dtype.type(0)
    for i in range(U(n)):
        square = _dot(h, i * d, h, i * d, d)
        inverse = h.dtype.type(1) / math.sqrt(square) if square > zero else zero
        facts[i, _INVERSE_NORM] = inverse


@inlined
def _block_end(offsets: Any, first: Any, last: Any) -> Any:
    """The row after the last one whose edges, with those before it, fit into a block."""
    end = first + _ONE
    while end < last and offsets[end + _ONE] - offsets[first] <= U(_BLOCK):
        end += _ONE
    return end


@inlined
def _forward_rows(
    offsets: Any, columns: Any, receivers: Any, h: Any, d: Any, beta: Any, facts: Any,
    weights: Any, out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The states of rows first..last, and 1 / (sum of the row's weights) into `facts`."""
    one, zero = h.dtype.type(1), h.dtype.type(0)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        start = offsets[begin]
        for q in range(start, offsets[end]):
            prefetch(h, U(columns[min(q + _AHEAD, final)]) * d)
            i, j = U(receivers[q]), U(columns[q])
            both = facts[i, _INVERSE_NORM] * facts[j, _INVERSE_NORM]
            weights[q - start] = beta * both * _dot(h, i * d, h, j * d, d) - shift
        exponentials(weights, offsets[end] - start)
        for i in range(begin, end):
            own = own_weight
            if facts[i, _INVERSE_NORM] == zero:
                own = one
                weights[offsets[i] - start : offsets[i + _ONE] - start] = one
            sum_of_weights = own
            for q in range(offsets[i], offsets[i + _ONE]):
                sum_of_weights += weights[q - start]
            inverse = one / sum_of_weights
            facts[i, _INVERSE_TOTAL] = inverse
            for k in range(U(0), d, _LANES):
                state = scale(own, load(h, i * d + k))
                for q in range(offsets[i], offsets[i + _ONE]):
                    state = fma(weights[q - start], load(h, U(columns[q]) * d + k), state)
                store(out, i * d + k, scale(inverse, state))
        begin = end


@compiled
def _slopes(gradient: Any, out: Any, rows: Any, n: Any, d: Any, facts: Any) -> None:
    """g_i . o_i into `facts`; rows that were not computed attend to nothing."""
    zero = gradient.dtype.type(0)
    for i in range(U(rows)):
        facts[i, _SLOPE] = _dot(gradient, i * d, out, i * d, d)
    for i in range(U(rows), U(n)):
        facts[i, _INVERSE_TOTAL] = zero
        facts[i, _SLOPE] = zero


@inlined
def _backward_rows(
    offsets: Any, columns: Any, receivers: Any, h: Any, g: Any, rows: Any, d: Any, beta: Any,
    facts: Any, buffers: Any, dh: Any, dbeta: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The gradient at rows first..last of h, and each row's part of the gradient at beta.

    For an edge between i and j with unnormalised weight e = e_ij = e_ji:
    `pull` is (g_i.h_j - g_i.o_i) / Z_i, `push` is (g_j.h_i - g_j.o_j) / Z_j, and `given`
    becomes P_ji. An edge between two rows that were not computed is skipped: neither attends.
    """
    zero, one = h.dtype.type(0), h.dtype.type(1)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    weights, cosines, pull, both, given = (
        buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    )  # fmt: skip
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        start, count = offsets[begin], offsets[end] - offsets[begin]
        for q in range(start, offsets[end]):
            ahead = U(columns[min(q + _AHEAD, final)])
            prefetch(h, ahead * d)
            prefetch(g, min(ahead, rows - _ONE) * d)
            i, j, t = U(receivers[q]), U(columns[q]), q - start
            weights[t], pull[t], push, given[t] = -shift, zero, zero, zero
            cosines[t], both[t] = zero, zero
            if i >= rows and j >= rows:
                continue
            ri, rj = facts[i, _INVERSE_NORM], facts[j, _INVERSE_NORM]
            cosine = ri * rj * _dot(h, i * d, h, j * d, d)
            cosines[t] = cosine
            weights[t] = beta * cosine - shift
            if i < rows:
                slope = _dot(g, i * d, h, j * d, d) - facts[i, _SLOPE]
                pull[t] = slope * facts[i, _INVERSE_TOTAL]
            if j < rows:
                slope = _dot(g, j * d, h, i * d, d) - facts[j, _SLOPE]
                push = slope * facts[j, _INVERSE_TOTAL]
                # A zero row's weights are 1, not e: told by the sign.
                given[t] = facts[j, _INVERSE_TOTAL] if rj > zero else -facts[j, _INVERSE_TOTAL]
            both[t] = (pull[t] + push) * (beta * ri)
        exponentials(weights, count)
        for t in range(count):
            e = weights[t]
            given[t] = e * given[t] if given[t] >= zero else -given[t]
            pull[t] *= e * cosines[t]
            both[t] *= e
            cosines[t] *= both[t]
        for i in range(begin, end):
            ri = facts[i, _INVERSE_NORM]
            inverse = facts[i, _INVERSE_TOTAL]
            own = (own_weight if ri > zero else one) * inverse
            of_beta, along = zero, zero
            if i < rows and ri > zero:
                of_beta = own * (_dot(g, i * d, h, i * d, d) - facts[i, _SLOPE])
            for q in range(offsets[i], offsets[i + _ONE]):
                t = q - start
                of_beta += pull[t]
                along += cosines[t]
                both[t] *= facts[U(columns[q]), _INVERSE_NORM] if both[t] != zero else zero
            dbeta[i] = of_beta
            along *= -ri
            for k in range(U(0), d, _LANES):
                state = scale(along, load(h, i * d + k))
                if i < rows:
                    state = fma(own, load(g, i * d + k), state)
                for q in range(offsets[i], offsets[i + _ONE]):
                    j, t = U(columns[q]), q - start
                    if i < rows or j < rows:
                        state = fma(both[t], load(h, j * d + k), state)
                    if j < rows:
                        state = fma(given[t], load(g, j * d + k), state)
                store(dh, i * d + k, state)
        begin = end


@compiled
def _forward_units(
    offsets: Any, columns: Any, receivers: Any, h: Any, n: Any, d: Any, rows: Any, beta: Any,
    facts: Any, longest: Any, out: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    weights = np.empty(max(_BLOCK, longest), h.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(rows * piece // pieces), U(rows * (piece + 1) // pieces)
        if pieces == 1:
            _norms(h[r], n, U(d), facts[r])
        if d == LANES:  # the common width, as a constant
            _forward_rows(
                offsets, columns, receivers, h[r], _LANES, beta[r], facts[r], weights, out[r],
                begin, end,
            )  # fmt: skip
        else:
            _forward_rows(
                offsets, columns, receivers, h[r], U(d), beta[r], facts[r], weights, out[r],
                begin, end,
            )  # fmt: skip


@compiled
def _backward_units(
    offsets: Any, columns: Any, receivers: Any, h: Any, g: Any, o: Any, n: Any, d: Any, rows: Any,
    beta: Any, facts: Any, longest: Any, dh: Any, dbeta: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last, as in the forward pass."""
    buffers = np.empty((5, max(_BLOCK, longest)), h.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(n * piece // pieces), U(n * (piece + 1) // pieces)
        if pieces == 1:
            _slopes(g[r], o[r], rows, n, U(d), facts[r])
        if d == LANES:  # the common width, as a constant
            _backward_rows(
                offsets, columns, receivers, h[r], g[r], U(rows), _LANES, beta[r], facts[r],
                buffers, dh[r], dbeta[r], begin, end,
            )  # fmt: skip
        else:
            _backward_rows(
                offsets, columns, receivers, h[r], g[r], U(rows), U(d), beta[r], facts[r],
                buffers, dh[r], dbeta[r], begin, end,
            )  # fmt: skip


@compiled
def _sums(values: Any, order: Any, out: Any) -> None:
    """The sum of each row of `values`, in the given order and in double precision."""
    for r in range(values.shape[0]):
        sum_in_order = 0.0
        for i in order:
            if i < values.shape[1]:  # a pruned graph's later layers hold fewer rows
                sum_in_order += values[r, i]
        out[r] = sum_in_order


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """The new states [R, rows, d], and per node the inverse norm and the inverse total."""
    betas = beta.numpy()
    if betas.min() < _LOWEST_BETA:
        return reference.forward(graph, h, beta, rows)
    lines, d = as_lines(h)
    replicas, n, width = h.shape
    saved = torch.empty(replicas, n, _FACTS, dtype=h.dtype)
    out = torch.empty(replicas, rows * d, dtype=h.dtype)
    facts, source, pieces = saved.numpy(), lines.numpy(), pieces_of(replicas)
    if pieces > 1:
        for r in range(replicas):
            _norms(source[r], n, U(d), facts[r])
    arguments = (
        *graph.arrays, source, n, d, rows, betas, facts, graph.longest_row, out.numpy(), pieces
    )  # fmt: skip
    cost = replicas * (graph.edges + rows)
    run_in_pieces(_forward_units, arguments, replicas * pieces, cost)
    return from_lines(out, rows, d, width), saved


def backward(
    graph: Graph, h: Tensor, beta: Tensor, out: Tensor, saved: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients at `h` [R, n, d] and at `beta` [R]."""
    if saved.numel() == 0:
        return reference.backward(graph, h, beta, out, saved, gradient)
    replicas, n, width = h.shape
    rows, pieces = out.shape[1], pieces_of(replicas)
    (lines, d), (results, _), (pulls, _) = as_lines(h), as_lines(out), as_lines(gradient)
    # `saved` may be needed again by a second backward pass; only its slopes are written here.
    facts, g, o = saved.numpy(), pulls.numpy(), results.numpy()
    dh, dbeta = torch.empty_like(lines), torch.empty(replicas, n, dtype=h.dtype)
    if pieces > 1:
        for r in range(replicas):
            _slopes(g[r], o[r], rows, n, U(d), facts[r])
    parts = dbeta.numpy()
    arguments = (
        *graph.arrays, lines.numpy(), g, o, n, d, rows, beta.numpy(), facts, graph.longest_row,
        dh.numpy(), parts, pieces,
    )  # fmt: skip
    run_in_pieces(_backward_units, arguments, replicas * pieces, 2 * replicas * (graph.edges + n))
    sums = torch.empty_like(beta)
    _sums(parts, graph.summation_order, sums.numpy())
    return from_lines(dh, n, d, width), sums
