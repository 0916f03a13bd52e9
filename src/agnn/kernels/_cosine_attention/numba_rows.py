"""Cosine attention in compiled CPU code: one pass over the rows each way, nothing kept by edge.

docs/notes/kernels.md derives the backward pass. Because the graph is undirected, row i of the same
CSR holds both the neighbours that i attends to and those that attend to i: each row of the gradient
is written once, by whoever owns the row.

Scores are shifted by the constant max(beta, 0) before the exponential, the largest score a row
with itself in it can have where beta is positive: no row maximum is needed, and e_ij = e_ji. A
zero row attends by the edges' weights alone; it gets these, or ones, since its scores, all 0, may
lie far below the shift.

Operands that travel together are tuples:

- `graph`: offsets, columns, receivers, and the weights of the edges or None;
- `layer`: the states h, their padded width d, beta, and the facts about every node;
- `i`, `j`: four rows each, those of a group of edges.

They cost nothing: LLVM sees their parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnn.kernels._cpu.edge_loops import exponentials, weigh, weight_at
from agnn.kernels._cpu.simd import (
    LANES,
    add,
    fence,
    fma,
    inline,
    jit,
    keep_loop,
    load,
    multiply,
    multiply_add,
    pick,
    prefetch,
    scale,
    splat,
    splat_4,
    store,
    subtract,
    total,
    totals,
)

U = np.uint64
_ONE = U(1)
_TWO = U(2)
_THREE = U(3)
_LANES = U(LANES)
_AHEAD = U(16)  # edges between asking for a row and reading it
_GROUP = U(4)  # edges whose dot products are taken together
BLOCK = 256  # edges whose exponentials are taken in one vector loop
BUFFERS = 6  # by edge of a block, for the backward pass
# What its neighbours need to know of a node, together in 16 bytes: places in a row of the facts.
_INVERSE_NORM = U(0)
_INVERSE_TOTAL = U(1)
_SLOPE = U(2)
FACTS = 4
_FACTS = U(FACTS)


@inline
def edge_buffers(count: Any, longest: Any, like: Any) -> Any:
    """`count` buffers for the edges of a block, the first from a cache line on.

    A group of edges may write beyond the last edge of a block, so the buffers are one group longer.
    """
    size = (max(BLOCK, longest) // LANES + 2) * LANES
    memory = np.empty(count * size + LANES, like.dtype)
    skip = -(memory.ctypes.data // memory.itemsize) % LANES
    return memory[skip : skip + count * size]


@inline
def _dot(a: Any, at: Any, b: Any, bt: Any, d: Any) -> Any:
    """a[at : at + d] . b[bt : bt + d]."""
    products = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(a, at + k), load(b, bt + k), products)
    return total(products)


@inline
def _dots(a: Any, i: Any, b: Any, j: Any, d: Any) -> Any:
    """The dot products of four rows i of `a` with four rows j of `b`."""
    p0 = p1 = p2 = p3 = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        p0 = multiply_add(load(a, i[0] * d + k), load(b, j[0] * d + k), p0)
        p1 = multiply_add(load(a, i[1] * d + k), load(b, j[1] * d + k), p1)
        p2 = multiply_add(load(a, i[2] * d + k), load(b, j[2] * d + k), p2)
        p3 = multiply_add(load(a, i[3] * d + k), load(b, j[3] * d + k), p3)
    return totals(p0, p1, p2, p3)


@inline
def _four(labels: Any, q: Any, final: Any) -> Any:
    """The labels of four edges from q on; behind the last edge, `final`, its label again."""
    q1 = min(q + _ONE, final)
    q2 = min(q + _TWO, final)
    q3 = min(q + _THREE, final)
    return U(labels[q]), U(labels[q1]), U(labels[q2]), U(labels[q3])


@inline
def _facts_of(facts: Any, which: Any, i: Any) -> Any:
    """One of the facts about four nodes."""
    return pick(
        facts,
        i[0] * _FACTS + which,
        i[1] * _FACTS + which,
        i[2] * _FACTS + which,
        i[3] * _FACTS + which,
    )


@jit
def norms(h: Any, d: Any, facts: Any, first: Any, last: Any) -> None:
    """1/|h_i| of rows first..last into `facts`, 0 for a zero row."""
    zero = h.dtype.type(0)
    for i in range(U(first), U(last)):
        square = _dot(h, i * d, h, i * d, d)
        inverse = h.dtype.type(1) / math.sqrt(square) if square > zero else zero
        facts[i * _FACTS + _INVERSE_NORM] = inverse


@inline
def _block_end(offsets: Any, first: Any, last: Any) -> Any:
    """The row after the last one whose edges, with those before it, fit into a block."""
    end = first + _ONE
    while end < last and offsets[end + _ONE] - offsets[first] <= U(BLOCK):
        end += _ONE
    return end


@inline
def forward_rows(graph: Any, layer: Any, weights: Any, out: Any, first: Any, last: Any) -> None:
    """The states of rows first..last, and 1 / (sum of the row's weights) into the facts."""
    offsets, columns, receivers, edge_weights = graph
    h, d, beta, facts = layer
    one = h.dtype.type(1)
    zero = h.dtype.type(0)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    betas = splat_4(beta)
    shifts = splat_4(shift)
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        start = offsets[begin]
        for q in range(start, offsets[end], _GROUP):
            for ahead in range(_AHEAD, _AHEAD + _GROUP):
                prefetch(h, U(columns[min(q + ahead, final)]) * d)
            # Behind the last edge of a block its numbers are computed again, and not read.
            i = _four(receivers, q, final)
            j = _four(columns, q, final)
            products = _dots(h, i, h, j, d)
            inverse_i = _facts_of(facts, _INVERSE_NORM, i)
            inverse_j = _facts_of(facts, _INVERSE_NORM, j)
            scores = multiply(multiply(betas, multiply(inverse_i, inverse_j)), products)
            store(weights, q - start, subtract(scores, shifts))
        exponentials(weights, offsets[end] - start)
        weigh(weights, offsets[end] - start, edge_weights, start)
        for row in range(begin, end):
            own = own_weight
            if facts[row * _FACTS + _INVERSE_NORM] == zero:
                own = one
                for q in range(offsets[row], offsets[row + _ONE]):
                    weights[q - start] = weight_at(edge_weights, q, one)
            # The sum runs with the first vector: a short loop costs a wrong guess of its end.
            sum_of_weights = own
            state = scale(own, load(h, row * d))
            for q in range(offsets[row], offsets[row + _ONE]):
                keep_loop()
                sum_of_weights += weights[q - start]
                state = fma(weights[q - start], load(h, U(columns[q]) * d), state)
            inverse = one / sum_of_weights
            facts[row * _FACTS + _INVERSE_TOTAL] = inverse
            store(out, row * d, scale(inverse, state))
            for k in range(_LANES, d, _LANES):
                state = scale(own, load(h, row * d + k))
                for q in range(offsets[row], offsets[row + _ONE]):
                    keep_loop()
                    state = fma(weights[q - start], load(h, U(columns[q]) * d + k), state)
                store(out, row * d + k, scale(inverse, state))
        begin = end


@jit
def slopes(gradient: Any, out: Any, rows: Any, d: Any, facts: Any, first: Any, last: Any) -> None:
    """g_i . o_i of rows first..last into `facts`; those not computed attend to nothing."""
    zero = gradient.dtype.type(0)
    for i in range(U(first), U(min(rows, last))):
        facts[i * _FACTS + _SLOPE] = _dot(gradient, i * d, out, i * d, d)
    for i in range(U(max(rows, first)), U(last)):
        facts[i * _FACTS + _INVERSE_TOTAL] = zero
        facts[i * _FACTS + _SLOPE] = zero


@inline
def _pulls(h: Any, g: Any, rows: Any, d: Any, facts: Any, i: Any, j: Any) -> Any:
    """(g_i.h_j - g_i.o_i) / Z_i of four edges; 1 / Z_i is 0 for a row that was not computed."""
    end = rows - _ONE  # such a row has no gradient to read either
    readable = (min(i[0], end), min(i[1], end), min(i[2], end), min(i[3], end))
    products = _dots(g, readable, h, j, d)
    differences = subtract(products, _facts_of(facts, _SLOPE, i))
    # Both terms of the sum over an edge's directions are rounded, whichever comes first.
    return fence(multiply(differences, _facts_of(facts, _INVERSE_TOTAL, i)))


@inline
def backward_rows(
    graph: Any, layer: Any, gradient: Any, buffers: Any, out: Any, first: Any, last: Any
) -> None:
    """The gradient at rows first..last of h, and each row's part of the gradient at beta.

    `gradient` is g and the number of its rows, `out` where the two gradients go.

    For an edge between i and j with unnormalised weight e = e_ij = e_ji:
    `pull` is (g_i.h_j - g_i.o_i) / Z_i, what is pushed is (g_j.h_i - g_j.o_j) / Z_j, and `given`
    becomes P_ji. Only the first `rows` rows attend; every edge has one of them at an end.
    """
    offsets, columns, receivers, edge_weights = graph
    h, d, beta, facts = layer
    g, rows = gradient
    dh, dbeta = out
    zero = h.dtype.type(0)
    one = h.dtype.type(1)
    shift = max(beta, zero)
    own_weight = h.dtype.type(math.exp(beta - shift))
    betas = splat_4(beta)
    shifts = splat_4(shift)
    size = buffers.size // BUFFERS
    weights = buffers[:size]
    cosines = buffers[size : 2 * size]
    pull = buffers[2 * size : 3 * size]
    both = buffers[3 * size : 4 * size]
    given = buffers[4 * size : 5 * size]
    inverse_norms = buffers[5 * size :]
    final = max(offsets[last], _ONE) - _ONE
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        start = offsets[begin]
        count = offsets[end] - start
        for q in range(start, offsets[end], _GROUP):
            for distance in range(_AHEAD, _AHEAD + _GROUP):
                ahead = U(columns[min(q + distance, final)])
                prefetch(h, ahead * d)
                prefetch(g, min(ahead, rows - _ONE) * d)
            i = _four(receivers, q, final)
            j = _four(columns, q, final)
            inverse_i = _facts_of(facts, _INVERSE_NORM, i)
            inverse_j = _facts_of(facts, _INVERSE_NORM, j)
            cosine = multiply(multiply(inverse_i, inverse_j), _dots(h, i, h, j, d))
            pulled = _pulls(h, g, rows, d, facts, i, j)
            pushed = _pulls(h, g, rows, d, facts, j, i)
            t = q - start
            store(weights, t, subtract(multiply(betas, cosine), shifts))
            store(cosines, t, cosine)
            store(pull, t, pulled)
            store(both, t, multiply(add(pulled, pushed), multiply(betas, inverse_i)))
            store(given, t, _facts_of(facts, _INVERSE_TOTAL, j))
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
        for row in range(begin, end):
            inverse_norm = facts[row * _FACTS + _INVERSE_NORM]
            inverse = facts[row * _FACTS + _INVERSE_TOTAL]
            own = (own_weight if inverse_norm > zero else one) * inverse
            of_beta = zero
            back = zero
            if row < rows and inverse_norm > zero:
                of_beta = own * (_dot(g, row * d, h, row * d, d) - facts[row * _FACTS + _SLOPE])
            for q in range(offsets[row], offsets[row + _ONE]):
                keep_loop()
                of_beta += pull[q - start]
                back += cosines[q - start]
            dbeta[row] = of_beta
            for k in range(U(0), d, _LANES):
                # Two sums, so that neither waits for the other's additions.
                turned = scale(-inverse_norm * back, load(h, row * d + k))
                valued = splat(zero)
                if row < rows:
                    valued = scale(own, load(g, row * d + k))
                for q in range(offsets[row], offsets[row + _ONE]):
                    keep_loop()
                    sender = U(columns[q])
                    t = q - start
                    turned = fma(both[t], load(h, sender * d + k), turned)
                    if sender < rows:
                        valued = fma(given[t], load(g, sender * d + k), valued)
                store(dh, row * d + k, fma(one, turned, valued))
        begin = end


@jit
def sum_in_order(parts: Any, order: Any) -> Any:
    """The sum of the rows' parts, in the given order and in double precision."""
    sum_of_parts = 0.0
    for i in order:
        sum_of_parts += parts[i]
    return sum_of_parts
