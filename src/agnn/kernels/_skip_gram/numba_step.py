"""The parts of a skip-gram step in vectors of 16, and how a place of a table is drawn.

`v` and `u` are flat, `d` is their padded width. A pair's rows of u are `rows[start : start +
count]`, and its products or slopes lie in `slopes` from `at` on; `slopes` holds whole vectors.
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
_ZERO, _LANES = U(0), U(LANES)
ONE = U(1)
word, below, fraction = map(inlined, (counter.word, counter.below, counter.fraction))


@inlined
def take_products(
    v: Any, i: Any, u: Any, d: Any, rows: Any, start: Any, count: Any, slopes: Any, at: Any
) -> None:
    """The products u . v_i of a pair."""
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
def move_pair(
    v: Any, i: Any, u: Any, d: Any, rows: Any, labels: Any, start: Any, count: Any, slopes: Any,
    at: Any, rate: Any,
) -> None:  # fmt: skip
    """Move v_i and the rows of a pair by rate * (label - s)."""
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
def draw_negatives(
    thresholds: Any, aliases: Any, negatives: Any, i: Any, o: Any, key: Any, drawn: Any, rows: Any,
    end: Any,
) -> Any:  # fmt: skip
    """Write drawn nodes other than i and o to `rows` from `end` on; the new end."""
    for n in range(negatives):
        row = draw(thresholds, aliases, word(key, drawn + U(n)))
        if row != o and row != i:
            rows[end] = row
            end += ONE
    return end
