"""Additive attention in compiled CPU code: one pass over the rows each way, nothing kept by edge.

docs/notes/kernels.md derives the backward pass. All heads of an edge stand in the 16 lanes of one
vector (`by_head` in `simd.py`). As the leaky ReLU is monotone, a row's highest score is that of its
highest sender: the shift before the exponential costs one comparison an edge.

`graph` is its offsets and columns. `layer` has the values h, their padded width d, the number of
heads, the slope of the leaky ReLU, the facts about every node, and what is drawn: whether anything
is, every receiver's words, the labels, the threshold and the factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnn.kernels._cpu.edge_loops import exponentials
from agnn.kernels._cpu.simd import (
    LANES,
    add,
    by_head,
    divide,
    inline,
    jit,
    larger,
    load,
    multiply,
    multiply_add,
    scale,
    splat,
    store,
    subtract,
    where_positive,
)
from agnn.kernels._dropout.numba_cpu import U32, is_kept, row_state

U = np.uint64
_ONE = U(1)
_LANES = U(LANES)
_AHEAD = U(4)  # entries between asking for a row and reading it
BLOCK = 128  # neighbours, the nodes themselves included, that are weighed together
# Where the vectors of facts about a node that its neighbours need stand in its line.
_RECEIVING = U(0)
_SENDING = U(16)
_HIGHEST = U(32)
_INVERSE = U(48)
_MEAN = U(64)
FACTS = 80
_FACTS = U(FACTS)


@inline
def _leaky(x: Any, slope: Any) -> Any:
    """max(x, slope x), lane by lane."""
    return larger(x, scale(slope, x))


@inline
def _dot(a: Any, at: Any, b: Any, bt: Any, d: Any, heads: Any) -> Any:
    """a[at : at + d] . b[bt : bt + d] of every head, in its lanes."""
    products = splat(a.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(a, at + k), load(b, bt + k), products)
    return by_head(products, heads)


@jit
def scores(h: Any, n: Any, d: Any, heads: Any, receiving: Any, sending: Any, facts: Any) -> None:
    """Every node's share of a score, as a receiver and as a sender."""
    for i in range(U(n)):
        line = i * _FACTS
        store(facts, line + _RECEIVING, _dot(h, i * d, receiving, U(0), d, heads))
        store(facts, line + _SENDING, _dot(h, i * d, sending, U(0), d, heads))


@inline
def _block_end(offsets: Any, first: Any, last: Any) -> Any:
    """The row after the last one whose neighbours, with those before it, fit into a block."""
    end = first + _ONE
    while end < last and offsets[end + _ONE] - offsets[first] + end - first < U(BLOCK):
        end += _ONE
    return end


@inline
def _draw(
    weights: Any, t: Any, words: Any, label: Any, heads: Any, threshold: Any, factor: Any
) -> None:
    """Drop or scale up the 16 weights at t; `words` is the receiver's, `label` the sender's."""
    start = U32(label * heads)
    mask = U32(heads - U32(1))  # l mod K, as K is a power of two
    for lane in range(16):
        kept = is_kept(words, U32(start + (U32(lane) & mask)), threshold)
        weights[t + U(lane)] *= factor if kept else weights.dtype.type(0)


@jit
def row_words(row_ids: Any, key: Any, state: Any, out: Any) -> None:
    """What each node contributes as a receiver to its random numbers."""
    for i in range(row_ids.size):
        out[i] = row_state(key, state, row_ids[i])


@inline
def forward_rows(graph: Any, layer: Any, weights: Any, sums: Any, first: Any, last: Any) -> None:
    """The states of rows first..last, and their highest score and inverse total into the facts.

    `sums` is what they start from and where they go.
    """
    offsets, columns = graph
    h, d, heads, slope, facts, draw = layer
    is_dropped, words, row_ids, threshold, factor = draw
    bias, out = sums
    zero = h.dtype.type(0)
    one = h.dtype.type(1)
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        t = U(0)
        for i in range(begin, end):
            own = load(facts, i * _FACTS + _RECEIVING)
            sender = load(facts, i * _FACTS + _SENDING)
            for q in range(offsets[i], offsets[i + _ONE]):
                sender = larger(sender, load(facts, U(columns[q]) * _FACTS + _SENDING))
            highest = _leaky(add(own, sender), slope)
            store(facts, i * _FACTS + _HIGHEST, highest)
            score = _leaky(add(own, load(facts, i * _FACTS + _SENDING)), slope)
            store(weights, t, subtract(score, highest))
            t += _LANES
            for q in range(offsets[i], offsets[i + _ONE]):
                score = _leaky(add(own, load(facts, U(columns[q]) * _FACTS + _SENDING)), slope)
                store(weights, t, subtract(score, highest))
                t += _LANES
        exponentials(weights, t)
        t = U(0)
        for i in range(begin, end):
            start = t
            total = splat(zero)
            for _ in range(offsets[i], offsets[i + _ONE] + _ONE):
                total = add(total, load(weights, t))
                t += _LANES
            inverse = divide(splat(one), total)
            store(facts, i * _FACTS + _INVERSE, inverse)
            if is_dropped:
                _draw(weights, start, words[i], row_ids[i], heads, threshold, factor)
                u = start + _LANES
                for q in range(offsets[i], offsets[i + _ONE]):
                    sender_id = row_ids[columns[q]]
                    _draw(weights, u, words[i], sender_id, heads, threshold, factor)
                    u += _LANES
            for k in range(U(0), d, _LANES):
                state = multiply(load(weights, start), load(h, i * d + k))
                u = start + _LANES
                for q in range(offsets[i], offsets[i + _ONE]):
                    state = multiply_add(load(weights, u), load(h, U(columns[q]) * d + k), state)
                    u += _LANES
                store(out, i * d + k, multiply_add(inverse, state, load(bias, k)))
        begin = end


@jit
def means(g: Any, out: Any, bias: Any, sizes: Any, heads: Any, facts: Any) -> None:
    """g_i . (o_i - b) by head into `facts`; rows that were not computed attend to nothing."""
    rows, n, d = sizes
    zero = splat(g.dtype.type(0))
    for i in range(U(rows)):
        products = zero
        for k in range(U(0), d, _LANES):
            plain = subtract(load(out, i * d + k), load(bias, k))
            products = multiply_add(load(g, i * d + k), plain, products)
        store(facts, i * _FACTS + _MEAN, by_head(products, heads))
    for i in range(U(rows), U(n)):
        store(facts, i * _FACTS + _HIGHEST, splat(g.dtype.type(1e30)))  # their weights: nearly 0
        store(facts, i * _FACTS + _INVERSE, zero)
        store(facts, i * _FACTS + _MEAN, zero)


@inline
def _pull(weight: Any, factors: Any, dot: Any, facts: Any, i: Any, x: Any, slope: Any) -> Any:
    """The gradient at the sum a_i + b_j inside row i's score, x being that sum."""
    steep = where_positive(x, splat(slope / slope), splat(slope))
    inner = subtract(multiply(factors, dot), load(facts, i * _FACTS + _MEAN))
    return multiply(steep, multiply(weight, inner))


@inline
def backward_rows(
    graph: Any, layer: Any, gradient: Any, buffers: Any, out: Any, first: Any, last: Any
) -> None:
    """The gradient at rows first..last of the values h, and at their two scores.

    `gradient` is g and the number of its rows, `out` where the two go.
    """
    offsets, columns = graph
    h, d, heads, slope, facts, draw = layer
    is_dropped, words, row_ids, threshold, factor = draw
    g, rows = gradient
    dh, pulls = out
    zero = h.dtype.type(0)
    one = h.dtype.type(1)
    # What row i pays to its neighbours, what they pay to it, and the dropout of both.
    here = buffers[0]
    there = buffers[1]
    kept_here = buffers[2]
    kept_there = buffers[3]
    begin = first
    while begin < last:
        end = _block_end(offsets, begin, last)
        t = U(0)
        for i in range(begin, end):
            receives = load(facts, i * _FACTS)
            sends = load(facts, i * _FACTS + _SENDING)
            highest = load(facts, i * _FACTS + _HIGHEST)
            own = subtract(_leaky(add(receives, sends), slope), highest)
            store(here, t, own)
            store(there, t, own)
            t += _LANES
            for q in range(offsets[i], offsets[i + _ONE]):
                line = U(columns[q]) * _FACTS
                pays = _leaky(add(receives, load(facts, line + _SENDING)), slope)
                gets = _leaky(add(load(facts, line + _RECEIVING), sends), slope)
                store(here, t, subtract(pays, highest))
                store(there, t, subtract(gets, load(facts, line + _HIGHEST)))
                t += _LANES
        exponentials(here, t)
        exponentials(there, t)
        kept_here[:t] = one
        kept_there[:t] = one
        t = U(0)
        for i in range(begin, end):
            start = t
            if is_dropped:
                _draw(kept_here, t, words[i], row_ids[i], heads, threshold, factor)
                u = t + _LANES
                for q in range(offsets[i], offsets[i + _ONE]):
                    j = columns[q]
                    _draw(kept_here, u, words[i], row_ids[j], heads, threshold, factor)
                    _draw(kept_there, u, words[j], row_ids[i], heads, threshold, factor)
                    u += _LANES
            receives = load(facts, i * _FACTS)
            sends = load(facts, i * _FACTS + _SENDING)
            inverse = load(facts, i * _FACTS + _INVERSE)
            pull = splat(zero)
            push = splat(zero)
            own = splat(zero)
            if i < rows:
                weight = multiply(load(here, t), inverse)
                dot = _dot(g, i * d, h, i * d, d, heads)
                pull = _pull(weight, load(kept_here, t), dot, facts, i, add(receives, sends), slope)
                push = pull
                own = multiply(weight, load(kept_here, t))
            t += _LANES
            for q in range(offsets[i], offsets[i + _ONE]):
                j = U(columns[q])
                line = j * _FACTS
                if i < rows:
                    weight = multiply(load(here, t), inverse)
                    dot = _dot(g, i * d, h, j * d, d, heads)
                    x = add(receives, load(facts, line + _SENDING))
                    pull = add(pull, _pull(weight, load(kept_here, t), dot, facts, i, x, slope))
                if j < rows:
                    weight = multiply(load(there, t), load(facts, line + _INVERSE))
                    dot = _dot(g, j * d, h, i * d, d, heads)
                    x = add(load(facts, line + _RECEIVING), sends)
                    push = add(push, _pull(weight, load(kept_there, t), dot, facts, j, x, slope))
                    store(there, t, multiply(weight, load(kept_there, t)))
                t += _LANES
            store(pulls, i * U(2) * _LANES, pull)
            store(pulls, i * U(2) * _LANES + _LANES, push)
            for k in range(U(0), d, _LANES):
                state = splat(zero)
                if i < rows:
                    state = multiply(own, load(g, i * d + k))
                u = start + _LANES
                for q in range(offsets[i], offsets[i + _ONE]):
                    if U(columns[q]) < rows:
                        state = multiply_add(load(there, u), load(g, U(columns[q]) * d + k), state)
                    u += _LANES
                store(dh, i * d + k, state)
        begin = end


@jit
def add_scores(pulls: Any, n: Any, d: Any, receiving: Any, sending: Any, dh: Any) -> None:
    """Add what the two scores of each row pass on to its state."""
    for i in range(U(n)):
        pull = load(pulls, i * U(2) * _LANES)
        push = load(pulls, i * U(2) * _LANES + _LANES)
        for k in range(U(0), d, _LANES):
            state = multiply_add(pull, load(receiving, k), load(dh, i * d + k))
            store(dh, i * d + k, multiply_add(push, load(sending, k), state))


@jit
def sums_in_order(order: Any, h: Any, g: Any, rows: Any, d: Any, pulls: Any, out: Any) -> None:
    """The gradients at the two vectors and at the bias, over all rows in the given order."""
    for k in range(U(0), U(d), _LANES):
        received = sent = given = splat(h.dtype.type(0))
        for i in order:
            state = load(h, i * U(d) + k)
            line = i * U(2) * _LANES
            received = multiply_add(load(pulls, line), state, received)
            sent = multiply_add(load(pulls, line + _LANES), state, sent)
            if i < U(rows):
                given = add(given, load(g, i * U(d) + k))
        store(out, k, received)
        store(out, U(d) + k, sent)
        store(out, U(2) * U(d) + k, given)
