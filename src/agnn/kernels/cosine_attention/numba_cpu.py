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
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels.cosine_attention import reference
from agnn.kernels.exponential import exponentials
from agnn.kernels.lines import as_lines, from_lines, new_lines
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
# Up to this many edges a replica's numbers by edge stay in the cache, and each undirected edge is
# looked at once for both its directions; beyond, block by block and each direction for itself.
_PAIRED = 32_768
_NO_PAIRS = (np.empty(0, np.uint32), np.empty(0, np.uint32))


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
    offsets: Any, columns: Any, receivers: Any, ones: Any, others: Any, h: Any, d: Any,
    beta: Any, facts: Any, weights: Any, out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The states of rows first..last, and 1 / (sum of the row's weights) into `facts`."""
    one, zero = h.dtype.type(1), h.dtype.type(0)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = last if ones.size else _block_end(offsets, begin, last)
        start = offsets[begin]
        for u in range(ones.size):
            to, j = U(receivers[ones[u]]), U(columns[ones[u]])
            both = facts[to, _INVERSE_NORM] * facts[j, _INVERSE_NORM]
            score = beta * both * _dot(h, to * d, h, j * d, d) - shift
            weights[ones[u]] = weights[others[u]] = score
        for q in range(start, start if ones.size else offsets[end]):
            prefetch(h, U(columns[min(q + _AHEAD, final)]) * d)
            to, j = U(receivers[q]), U(columns[q])
            both = facts[to, _INVERSE_NORM] * facts[j, _INVERSE_NORM]
            weights[q - start] = beta * both * _dot(h, to * d, h, j * d, d) - shift
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
def _pull(h: Any, g: Any, rows: Any, d: Any, facts: Any, i: Any, j: Any) -> Any:
    """(g_i.h_j - g_i.o_i) / Z_i; zero for a row that was not computed."""
    if i >= rows:
        return h.dtype.type(0)
    return (_dot(g, i * d, h, j * d, d) - facts[i, _SLOPE]) * facts[i, _INVERSE_TOTAL]


@inlined
def _backward_rows(
    offsets: Any, columns: Any, receivers: Any, ones: Any, others: Any, h: Any, g: Any, rows: Any,
    d: Any, beta: Any, facts: Any, buffers: Any, dh: Any, dbeta: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The gradient at rows first..last of h, and each row's part of the gradient at beta.

    For an edge between i and j with unnormalised weight e = e_ij = e_ji:
    `pull` is (g_i.h_j - g_i.o_i) / Z_i, what is pushed is (g_j.h_i - g_j.o_j) / Z_j, and `given`
    is P_ji. Only the first `rows` rows attend; every edge has one of them at an end.
    """
    zero, one = h.dtype.type(0), h.dtype.type(1)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    weights, cosines, pull, both = buffers[0], buffers[1], buffers[2], buffers[3]
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = last if ones.size else _block_end(offsets, begin, last)
        start, count = offsets[begin], offsets[end] - offsets[begin]
        for u in range(ones.size):
            there, back = ones[u], others[u]
            to, j = U(receivers[there]), U(columns[there])
            r_to, rj = facts[to, _INVERSE_NORM], facts[j, _INVERSE_NORM]
            cosine = r_to * rj * _dot(h, to * d, h, j * d, d)
            pulled = _pull(h, g, rows, d, facts, to, j)
            pushed = _pull(h, g, rows, d, facts, j, to)
            score = beta * cosine - shift
            weights[there], weights[back] = score, score
            cosines[there], cosines[back] = cosine, cosine
            pull[there], pull[back] = pulled, pushed
            both[there] = (pulled + pushed) * (beta * r_to)
            both[back] = (pulled + pushed) * (beta * rj)
        for q in range(start, start if ones.size else offsets[end]):
            ahead = U(columns[min(q + _AHEAD, final)])
            prefetch(h, ahead * d)
            prefetch(g, min(ahead, rows - _ONE) * d)
            to, j, t = U(receivers[q]), U(columns[q]), q - start
            r_to, rj = facts[to, _INVERSE_NORM], facts[j, _INVERSE_NORM]
            cosine = r_to * rj * _dot(h, to * d, h, j * d, d)
            pulled = _pull(h, g, rows, d, facts, to, j)
            pushed = _pull(h, g, rows, d, facts, j, to)
            weights[t], cosines[t], pull[t] = beta * cosine - shift, cosine, pulled
            both[t] = (pulled + pushed) * (beta * r_to)
        exponentials(weights, count)
        for t in range(count):
            both[t] *= weights[t]
            pull[t] *= weights[t] * cosines[t]
            cosines[t] *= both[t]
        for i in range(begin, end):
            ri = facts[i, _INVERSE_NORM]
            inverse = facts[i, _INVERSE_TOTAL]
            own = (own_weight if ri > zero else one) * inverse
            of_beta, back = zero, zero
            if i < rows and ri > zero:
                of_beta = own * (_dot(g, i * d, h, i * d, d) - facts[i, _SLOPE])
            for q in range(offsets[i], offsets[i + _ONE]):
                t = q - start
                of_beta += pull[t]
                back += cosines[t]
            dbeta[i] = of_beta
            for k in range(U(0), d, _LANES):
                # Two sums, so that neither waits for the other's additions.
                turned = scale(-ri * back, load(h, i * d + k))
                valued = splat(zero)
                if i < rows:
                    valued = scale(own, load(g, i * d + k))
                for q in range(offsets[i], offsets[i + _ONE]):
                    j, t = U(columns[q]), q - start
                    rj = facts[j, _INVERSE_NORM]
                    turned = fma(both[t] * rj, load(h, j * d + k), turned)
                    if j < rows:
                        given = (weights[t] if rj > zero else one) * facts[j, _INVERSE_TOTAL]
                        valued = fma(given, load(g, j * d + k), valued)
                store(dh, i * d + k, fma(one, turned, valued))
        begin = end


@compiled
def _forward_units(
    offsets: Any, columns: Any, receivers: Any, ones: Any, others: Any, h: Any, n: Any, d: Any,
    rows: Any, beta: Any, facts: Any, longest: Any, out: Any, pieces: Any, first: Any, last: Any,
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
                offsets, columns, receivers, ones, others, h[r], _LANES, beta[r], facts[r],
                weights, out[r], begin, end,
            )  # fmt: skip
        else:
            _forward_rows(
                offsets, columns, receivers, ones, others, h[r], U(d), beta[r], facts[r],
                weights, out[r], begin, end,
            )  # fmt: skip


@compiled
def _sum(parts: Any, order: Any) -> Any:
    """The sum of the rows' parts, in the given order and in double precision."""
    sum_in_order = 0.0
    for i in order:
        sum_in_order += parts[i]
    return sum_in_order


@compiled
def _backward_units(
    offsets: Any, columns: Any, receivers: Any, ones: Any, others: Any, h: Any, g: Any, o: Any,
    n: Any, d: Any, rows: Any,
    beta: Any, facts: Any, longest: Any, dh: Any, parts: Any, order: Any, dbeta: Any, pieces: Any,
    first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last, as in the forward pass."""
    buffers = np.empty((4, max(_BLOCK, longest)), h.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(n * piece // pieces), U(n * (piece + 1) // pieces)
        if pieces == 1:
            _slopes(g[r], o[r], rows, n, U(d), facts[r])
        if d == LANES:  # the common width, as a constant
            _backward_rows(
                offsets, columns, receivers, ones, others, h[r], g[r], U(rows), _LANES,
                beta[r], facts[r], buffers, dh[r], parts[r], begin, end,
            )  # fmt: skip
        else:
            _backward_rows(
                offsets, columns, receivers, ones, others, h[r], g[r], U(rows), U(d),
                beta[r], facts[r], buffers, dh[r], parts[r], begin, end,
            )  # fmt: skip
        if pieces == 1:
            dbeta[r] = _sum(parts[r], order)


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, NDArray[Any]]:
    """The new states [R, rows, d], and per node the inverse norm and the inverse total."""
    source, d = as_lines(h)
    replicas, n, width = h.shape
    betas, used = beta.detach().numpy(), graph.around(rows)
    cost = replicas * (used.edges + rows)
    pieces = pieces_of(replicas, cost)
    facts = np.empty((replicas, n, _FACTS), source.dtype)
    out = new_lines(replicas, rows, d, h.dtype)
    if pieces > 1:
        for r in range(replicas):
            _norms(source[r], n, U(d), facts[r])
    arguments = (
        *used.arrays, *_pairs(used, pieces), source, n, d, rows, betas, facts,
        _room(used, pieces), out.numpy(), pieces,
    )  # fmt: skip
    run_in_pieces(_forward_units, arguments, replicas * pieces, cost)
    states = from_lines(out, rows, d, width)
    for r in _extreme(betas):
        states[r] = reference.states(graph, h[r : r + 1], beta[r : r + 1], rows)[0]
    return states, facts


def _pairs(used: Graph, pieces: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Each undirected edge once, where all edges of a replica fit into the cache; else none."""
    return used.pairs if pieces == 1 and used.edges <= _PAIRED else _NO_PAIRS


def _room(used: Graph, pieces: int) -> int:
    """How many edges a buffer must hold at once."""
    return used.edges if pieces == 1 and used.edges <= _PAIRED else used.longest_row


def _extreme(betas: NDArray[Any]) -> list[int]:
    """The replicas for which the constant shift does not do; the reference computes them."""
    return [r for r, value in enumerate(betas.tolist()) if value < _LOWEST_BETA]


def backward(
    graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: NDArray[Any], gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients at `h` [R, n, d] and at `beta` [R]."""
    replicas, n, width = h.shape
    (source, d), (o, _), (g, _) = as_lines(h), as_lines(out), as_lines(gradient)
    rows = out.shape[1]
    # A second backward pass may need the facts again: only slopes are written into them here,
    # and the totals of rows that have none.
    facts, betas, used = kept, beta.detach().numpy(), graph.around(rows)
    reached = used.nodes  # rows of `h` beyond them have no part in the output
    cost = 2 * replicas * (used.edges + reached)
    pieces = pieces_of(replicas, cost)
    dh, dbeta = new_lines(replicas, n, d, h.dtype), torch.empty(replicas, dtype=h.dtype)
    parts = np.empty((replicas, n), facts.dtype)
    if pieces > 1:
        for r in range(replicas):
            _slopes(g[r], o[r], rows, n, U(d), facts[r])
    if reached < n:
        dh.view(replicas, n, d)[:, reached:] = 0
    arguments = (
        *used.arrays, *_pairs(used, pieces), source, g, o, reached, d, rows, betas, facts,
        _room(used, pieces),
        dh.numpy(), parts, used.summation_order, dbeta.numpy(), pieces,
    )  # fmt: skip
    run_in_pieces(_backward_units, arguments, replicas * pieces, cost)
    if pieces > 1:
        for r in range(replicas):
            dbeta[r] = _sum(parts[r], used.summation_order)
    slopes = from_lines(dh, n, d, width)
    for r in _extreme(betas):
        own = slice(r, r + 1)
        slopes[own], dbeta[own] = reference.backward(
            graph, h[own], beta[own], out[own], None, gradient[own]
        )
    return slopes, dbeta
