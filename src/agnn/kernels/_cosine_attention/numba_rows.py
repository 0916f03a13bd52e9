"""Cosine attention in compiled CPU code: one pass over the rows each way, nothing kept by edge.

docs/kernels.md derives the backward pass. Because the graph is undirected, row i of the same CSR
holds both the neighbours that i attends to and those that attend to i: each row of the gradient
is written once, by whoever owns the row.

Scores are shifted by the constant max(beta, 0) before the exponential, the largest score a row
with itself in it can have where beta is positive: no row maximum is needed, and e_ij = e_ji. A
zero row attends by the edges' weights alone; it gets these, or ones, since its scores, all 0, may
lie far below the shift.

`edge_weights` is an array by edge or None.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnn.kernels._cpu.edge_weights import weigh, weight_at
from agnn.kernels._cpu.exponential import exponentials
from agnn.kernels._cpu.simd import (
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

U = np.uint64
_ONE, _LANES = U(1), U(LANES)
_AHEAD = U(16)  # edges between asking for a row and reading it
BLOCK = 256  # edges whose exponentials are taken in one vector loop
# Columns of the facts about a node that its neighbours need, together in 16 bytes.
_INVERSE_NORM, _INVERSE_TOTAL, _SLOPE = U(0), U(1), U(2)
FACTS = 4


@inlined
def _dot(a: Any, at: Any, b: Any, bt: Any, d: Any) -> Any:
    """a[at : at + d] . b[bt : bt + d]."""
    products = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(a, at + k), load(b, bt + k), products)
    return total(products)


@compiled
def norms(h: Any, d: Any, facts: Any, first: Any, last: Any) -> None:
    """1/|h_i| of rows first..last into `facts`, 0 for a zero row."""
    zero = h.dtype.type(0)
    for i in range(U(first), U(last)):
        square = _dot(h, i * d, h, i * d, d)
        inverse = h.dtype.type(1) / math.sqrt(square) if square > zero else zero
        facts[i, _INVERSE_NORM] = inverse


@inlined
def _block_end(offsets: Any, first: Any, last: Any) -> Any:
    """The row after the last one whose edges, with those before it, fit into a block."""
    end = first + _ONE
    while end < last and offsets[end + _ONE] - offsets[first] <= U(BLOCK):
        end += _ONE
    return end


@inlined
def forward_rows(
    offsets: Any, columns: Any, receivers: Any, ones: Any, others: Any, edge_weights: Any, h: Any,
    d: Any, beta: Any, facts: Any, weights: Any, out: Any, first: Any, last: Any,
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
        weigh(weights, offsets[end] - start, edge_weights, start)
        for i in range(begin, end):
            own = own_weight
            if facts[i, _INVERSE_NORM] == zero:
                own = one
                for q in range(offsets[i], offsets[i + _ONE]):
                    weights[q - start] = weight_at(edge_weights, q, one)
            # The sum runs with the first vector: a short loop costs a wrong guess of its end.
            sum_of_weights, state = own, scale(own, load(h, i * d))
            for q in range(offsets[i], offsets[i + _ONE]):
                sum_of_weights += weights[q - start]
                state = fma(weights[q - start], load(h, U(columns[q]) * d), state)
            inverse = one / sum_of_weights
            facts[i, _INVERSE_TOTAL] = inverse
            store(out, i * d, scale(inverse, state))
            for k in range(_LANES, d, _LANES):
                state = scale(own, load(h, i * d + k))
                for q in range(offsets[i], offsets[i + _ONE]):
                    state = fma(weights[q - start], load(h, U(columns[q]) * d + k), state)
                store(out, i * d + k, scale(inverse, state))
        begin = end


@compiled
def slopes(gradient: Any, out: Any, rows: Any, d: Any, facts: Any, first: Any, last: Any) -> None:
    """g_i . o_i of rows first..last into `facts`; those not computed attend to nothing."""
    zero = gradient.dtype.type(0)
    for i in range(U(first), U(min(rows, last))):
        facts[i, _SLOPE] = _dot(gradient, i * d, out, i * d, d)
    for i in range(U(max(rows, first)), U(last)):
        facts[i, _INVERSE_TOTAL] = zero
        facts[i, _SLOPE] = zero


@inlined
def _pull(h: Any, g: Any, rows: Any, d: Any, facts: Any, i: Any, j: Any) -> Any:
    """(g_i.h_j - g_i.o_i) / Z_i; zero for a row that was not computed."""
    if i >= rows:
        return h.dtype.type(0)
    return (_dot(g, i * d, h, j * d, d) - facts[i, _SLOPE]) * facts[i, _INVERSE_TOTAL]


@inlined
def backward_rows(
    offsets: Any, columns: Any, receivers: Any, ones: Any, others: Any, edge_weights: Any, h: Any,
    g: Any, rows: Any, d: Any, beta: Any, facts: Any, buffers: Any, dh: Any, dbeta: Any,
    first: Any, last: Any,
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
        weigh(weights, count, edge_weights, start)
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
                        even = weight_at(edge_weights, q, one)
                        given = (weights[t] if rj > zero else even) * facts[j, _INVERSE_TOTAL]
                        valued = fma(given, load(g, j * d + k), valued)
                store(dh, i * d + k, fma(one, turned, valued))
        begin = end


@compiled
def sum_in_order(parts: Any, order: Any) -> Any:
    """The sum of the rows' parts, in the given order and in double precision."""
    found = 0.0
    for i in order:
        found += parts[i]
    return found
