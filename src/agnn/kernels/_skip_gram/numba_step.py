"""The parts of a skip-gram step in vectors of 16, and how a place of a table is drawn.

`vectors` are v and u, flat, and d, their padded width. `turns` are the rows of u that a pair has
and their labels: `rows[start : start + count]` and `labels[start : start + count]`. Its products or
slopes lie in `slopes` from `at` on; `slopes` holds whole vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnn.kernels import _counter as counter
from agnn.kernels._cpu.simd import (
    LANES,
    fma,
    inlined,
    load,
    logistic,
    multiply_add,
    splat,
    store,
    total,
)

U = np.uint64
_ZERO = U(0)
_LANES = U(LANES)
ONE = U(1)
word, below, fraction = map(inlined, (counter.word, counter.below, counter.fraction))


@inlined
def take_products(vectors: Any, i: Any, turns: Any, slopes: Any, at: Any) -> None:
    """The products u . v_i of a pair."""
    v, u, d = vectors
    rows, _, start, count = turns
    zero = v.dtype.type(0)
    for t in range(count):
        row = U(rows[start + t]) * d
        product = splat(zero)
        for k in range(_ZERO, d, _LANES):
            product = multiply_add(load(v, i * d + k), load(u, row + k), product)
        slopes[at + t] = total(product)


@inlined
def take_logistic(slopes: Any, count: Any) -> None:
    """s(u . v) in the place of the first `count` products."""
    for t in range(_ZERO, count, _LANES):
        store(slopes, t, logistic(load(slopes, t)))


@inlined
def move_pair(vectors: Any, i: Any, turns: Any, slopes: Any, at: Any, rate: Any) -> None:
    """Move v_i and the rows of a pair by rate * (label - s)."""
    v, u, d = vectors
    rows, labels, start, count = turns
    for t in range(count):
        slopes[at + t] = rate * (labels[start + t] - slopes[at + t])
    for k in range(_ZERO, d, _LANES):
        before = load(v, i * d + k)
        after = before
        for t in range(count):
            place = U(rows[start + t]) * d + k
            output = load(u, place)
            after = fma(slopes[at + t], output, after)
            store(u, place, fma(slopes[at + t], before, output))
        store(v, i * d + k, after)


@inlined
def draw(thresholds: Any, aliases: Any, x: Any) -> Any:
    """A place of an alias table out of a random word."""
    place = below(x, U(thresholds.size))
    return place if fraction(x) < thresholds[place] else U(aliases[place])


@inlined
def draw_negatives(noise: Any, i: Any, o: Any, key: Any, drawn: Any, rows: Any) -> Any:
    """Write drawn nodes other than i and o to `rows` behind its first entry; the new end."""
    thresholds, aliases, negatives = noise
    end = ONE
    for n in range(negatives):
        row = draw(thresholds, aliases, word(key, drawn + U(n)))
        if row != o and row != i:
            rows[end] = row
            end += ONE
    return end
