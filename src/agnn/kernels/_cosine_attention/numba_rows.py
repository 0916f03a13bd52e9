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
    add,
    compiled,
    fma,
    inlined,
    load,
    multiply,
    multiply_add,
    pick,
    prefetch,
    rolled,
    rounded,
    scale,
    splat,
    splat_4,
    store,
    subtract,
    total,
    totals,
)

U = np.uint64
_ONE, _TWO, _THREE, _LANES = U(1), U(2), U(3), U(LANES)
_AHEAD = U(16)  # edges between asking for a row and reading it
_GROUP = U(4)  # edges whose dot products are taken together
BLOCK = 256  # edges whose exponentials are taken in one vector loop
BUFFERS = 6  # by edge of a block, for the backward pass
# What its neighbours need to know of a node, together in 16 bytes: places in a row of the facts.
_INVERSE_NORM, _INVERSE_TOTAL, _SLOPE = U(0), U(1), U(2)
FACTS = 4
_FACTS = U(FACTS)


@inlined
def edge_buffers(count: Any, longest: Any, like: Any) -> Any:
    """`count` buffers for the edges of a block, the first from a cache line on.

    A group of edges may write beyond the last edge of a block, so the buffers are one group longer.
    """
    size = (max(BLOCK, longest) // LANES + 2) * LANES
    found = np.empty(count * size + LANES, like.dtype)
    skip = -(found.ctypes.data // found.itemsize) % LANES
    return found[skip : skip + count * size]


@inlined
def _dot(a: Any, at: Any, b: Any, bt: Any, d: Any) -> Any:
    """a[at : at + d] . b[bt : bt + d]."""
    products = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(a, at + k), load(b, bt + k), products)
    return total(products)


@inlined
def _dots(
    a: Any, a0: Any, a1: Any, a2: Any, a3: Any, b: Any, b0: Any, b1: Any, b2: Any, b3: Any, d: Any
) -> Any:
    """The dot products of four rows of `a` with four of `b`."""
    p0 = p1 = p2 = p3 = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        p0 = multiply_add(load(a, a0 * d + k), load(b, b0 * d + k), p0)
        p1 = multiply_add(load(a, a1 * d + k), load(b, b1 * d + k), p1)
        p2 = multiply_add(load(a, a2 * d + k), load(b, b2 * d + k), p2)
        p3 = multiply_add(load(a, a3 * d + k), load(b, b3 * d + k), p3)
    return totals(p0, p1, p2, p3)


@inlined
def _facts_of(facts: Any, which: Any, i0: Any, i1: Any, i2: Any, i3: Any) -> Any:
    """One of the facts about four nodes."""
    return pick(
        facts, i0 * _FACTS + which, i1 * _FACTS + which, i2 * _FACTS + which, i3 * _FACTS + which
    )


@compiled
def norms(h: Any, d: Any, facts: Any, first: Any, last: Any) -> None:
    """1/|h_i| of rows first..last into `facts`, 0 for a zero row."""
    zero = h.dtype.type(0)
    for i in range(U(first), U(last)):
        square = _dot(h, i * d, h, i * d, d)
        inverse = h.dtype.type(1) / math.sqrt(square) if square > zero else zero
        facts[i * _FACTS + _INVERSE_NORM] = inverse


@inlined
def _block_end(offsets: Any, first: Any, last: Any) -> Any:
    """The row after the last one whose edges, with those before it, fit into a block."""
    end = first + _ONE
    while end < last and offsets[end + _ONE] - offsets[first] <= U(BLOCK):
        end += _ONE
    return end


@inlined
def forward_rows(
    offsets: Any, columns: Any, receivers: Any, edge_weights: Any, h: Any, d: Any, beta: Any,
    facts: Any, weights: Any, out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The states of rows first..last, and 1 / (sum of the row's weights) into `facts`."""
    one, zero = h.dtype.type(1), h.dtype.type(0)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    betas, shifts = splat_4(beta), splat_4(shift)
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        start = offsets[begin]
        for q in range(start, offsets[end], _GROUP):
            for ahead in range(_AHEAD, _AHEAD + _GROUP):
                prefetch(h, U(columns[min(q + ahead, final)]) * d)
            # Behind the last edge of a block its numbers are computed again, and not read.
            q1, q2, q3 = min(q + _ONE, final), min(q + _TWO, final), min(q + _THREE, final)
            i0, i1 = U(receivers[q]), U(receivers[q1])
            i2, i3 = U(receivers[q2]), U(receivers[q3])
            j0, j1, j2, j3 = U(columns[q]), U(columns[q1]), U(columns[q2]), U(columns[q3])
            products = _dots(h, i0, i1, i2, i3, h, j0, j1, j2, j3, d)
            inverse_i = _facts_of(facts, _INVERSE_NORM, i0, i1, i2, i3)
            inverse_j = _facts_of(facts, _INVERSE_NORM, j0, j1, j2, j3)
            scores = multiply(multiply(betas, multiply(inverse_i, inverse_j)), products)
            store(weights, q - start, subtract(scores, shifts))
        exponentials(weights, offsets[end] - start)
        weigh(weights, offsets[end] - start, edge_weights, start)
        for i in range(begin, end):
            own = own_weight
            if facts[i * _FACTS + _INVERSE_NORM] == zero:
                own = one
                for q in range(offsets[i], offsets[i + _ONE]):
                    weights[q - start] = weight_at(edge_weights, q, one)
            # The sum runs with the first vector: a short loop costs a wrong guess of its end.
            sum_of_weights, state = own, scale(own, load(h, i * d))
            for q in range(offsets[i], offsets[i + _ONE]):
                rolled()
                sum_of_weights += weights[q - start]
                state = fma(weights[q - start], load(h, U(columns[q]) * d), state)
            inverse = one / sum_of_weights
            facts[i * _FACTS + _INVERSE_TOTAL] = inverse
            store(out, i * d, scale(inverse, state))
            for k in range(_LANES, d, _LANES):
                state = scale(own, load(h, i * d + k))
                for q in range(offsets[i], offsets[i + _ONE]):
                    rolled()
                    state = fma(weights[q - start], load(h, U(columns[q]) * d + k), state)
                store(out, i * d + k, scale(inverse, state))
        begin = end


@compiled
def slopes(gradient: Any, out: Any, rows: Any, d: Any, facts: Any, first: Any, last: Any) -> None:
    """g_i . o_i of rows first..last into `facts`; those not computed attend to nothing."""
    zero = gradient.dtype.type(0)
    for i in range(U(first), U(min(rows, last))):
        facts[i * _FACTS + _SLOPE] = _dot(gradient, i * d, out, i * d, d)
    for i in range(U(max(rows, first)), U(last)):
        facts[i * _FACTS + _INVERSE_TOTAL] = zero
        facts[i * _FACTS + _SLOPE] = zero


@inlined
def _pulls(
    h: Any, g: Any, rows: Any, d: Any, facts: Any,
    i0: Any, i1: Any, i2: Any, i3: Any, j0: Any, j1: Any, j2: Any, j3: Any,
) -> Any:  # fmt: skip
    """(g_i.h_j - g_i.o_i) / Z_i of four edges; 1 / Z_i is 0 for a row that was not computed."""
    end = rows - _ONE  # such a row has no gradient to read either
    products = _dots(
        g, min(i0, end), min(i1, end), min(i2, end), min(i3, end), h, j0, j1, j2, j3, d
    )
    differences = subtract(products, _facts_of(facts, _SLOPE, i0, i1, i2, i3))
    # Both terms of the sum over an edge's directions are rounded, whichever comes first.
    return rounded(multiply(differences, _facts_of(facts, _INVERSE_TOTAL, i0, i1, i2, i3)))


@inlined
def backward_rows(
    offsets: Any, columns: Any, receivers: Any, edge_weights: Any, h: Any, g: Any, rows: Any,
    d: Any, beta: Any, facts: Any, buffers: Any, dh: Any, dbeta: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The gradient at rows first..last of h, and each row's part of the gradient at beta.

    For an edge between i and j with unnormalised weight e = e_ij = e_ji:
    `pull` is (g_i.h_j - g_i.o_i) / Z_i, what is pushed is (g_j.h_i - g_j.o_j) / Z_j, and `given`
    becomes P_ji. Only the first `rows` rows attend; every edge has one of them at an end.
    """
    zero, one = h.dtype.type(0), h.dtype.type(1)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    betas, shifts = splat_4(beta), splat_4(shift)
    size = buffers.size // BUFFERS
    weights, cosines, pull = buffers[:size], buffers[size : 2 * size], buffers[2 * size : 3 * size]
    both, given = buffers[3 * size : 4 * size], buffers[4 * size : 5 * size]
    inverse_norms = buffers[5 * size :]
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        start, count = offsets[begin], offsets[end] - offsets[begin]
        for q in range(start, offsets[end], _GROUP):
            for distance in range(_AHEAD, _AHEAD + _GROUP):
                ahead = U(columns[min(q + distance, final)])
                prefetch(h, ahead * d)
                prefetch(g, min(ahead, rows - _ONE) * d)
            q1, q2, q3 = min(q + _ONE, final), min(q + _TWO, final), min(q + _THREE, final)
            i0, i1 = U(receivers[q]), U(receivers[q1])
            i2, i3 = U(receivers[q2]), U(receivers[q3])
            j0, j1, j2, j3 = U(columns[q]), U(columns[q1]), U(columns[q2]), U(columns[q3])
            inverse_i = _facts_of(facts, _INVERSE_NORM, i0, i1, i2, i3)
            inverse_j = _facts_of(facts, _INVERSE_NORM, j0, j1, j2, j3)
            products = _dots(h, i0, i1, i2, i3, h, j0, j1, j2, j3, d)
            cosine = multiply(multiply(inverse_i, inverse_j), products)
            pulled = _pulls(h, g, rows, d, facts, i0, i1, i2, i3, j0, j1, j2, j3)
            pushed = _pulls(h, g, rows, d, facts, j0, j1, j2, j3, i0, i1, i2, i3)
            t = q - start
            store(weights, t, subtract(multiply(betas, cosine), shifts))
            store(cosines, t, cosine)
            store(pull, t, pulled)
            store(both, t, multiply(add(pulled, pushed), multiply(betas, inverse_i)))
            store(given, t, _facts_of(facts, _INVERSE_TOTAL, j0, j1, j2, j3))
            store(inverse_norms, t, inverse_j)
        exponentials(weights, count)
        weigh(weights, count, edge_weights, start)
        for t in range(count):
            both[t] *= weights[t]
            pull[t] *= weights[t] * cosines[t]
            cosines[t] *= both[t]
            even = weight_at(edge_weights, start + t, one)
            given[t] *= weights[t] if inverse_norms[t] > zero else even
            both[t] *= inverse_norms[t]
        for i in range(begin, end):
            ri = facts[i * _FACTS + _INVERSE_NORM]
            inverse = facts[i * _FACTS + _INVERSE_TOTAL]
            own = (own_weight if ri > zero else one) * inverse
            of_beta, back = zero, zero
            if i < rows and ri > zero:
                of_beta = own * (_dot(g, i * d, h, i * d, d) - facts[i * _FACTS + _SLOPE])
            for q in range(offsets[i], offsets[i + _ONE]):
                rolled()
                of_beta += pull[q - start]
                back += cosines[q - start]
            dbeta[i] = of_beta
            for k in range(U(0), d, _LANES):
                # Two sums, so that neither waits for the other's additions.
                turned = scale(-ri * back, load(h, i * d + k))
                valued = splat(zero)
                if i < rows:
                    valued = scale(own, load(g, i * d + k))
                for q in range(offsets[i], offsets[i + _ONE]):
                    rolled()
                    j, t = U(columns[q]), q - start
                    turned = fma(both[t], load(h, j * d + k), turned)
                    if j < rows:
                        valued = fma(given[t], load(g, j * d + k), valued)
                store(dh, i * d + k, fma(one, turned, valued))
        begin = end


@compiled
def sum_in_order(parts: Any, order: Any) -> Any:
    """The sum of the rows' parts, in the given order and in double precision."""
    found = 0.0
    for i in order:
        found += parts[i]
    return found
