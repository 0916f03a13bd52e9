"""Skip-gram in compiled CPU code: one thread, pair after pair, as the reference orders them.

`vectors` are v and u, flat, and d, their padded width. `turns` are the rows of u that a pair has
and their labels: `rows[start : start + count]` and `labels[start : start + count]`. Its products or
slopes lie in `slopes` from `at` on; `slopes` holds whole vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.kernels import _counter as counter
from agnn.kernels._cpu.simd import (
    LANES,
    fma,
    inline,
    jit,
    load,
    logistic,
    multiply_add,
    splat,
    store,
    total,
)
from agnn.kernels._skip_gram import Descent, Noise, Paths

U = np.uint64
_ZERO = U(0)
_LANES = U(LANES)
ONE = U(1)
word, below, fraction = map(inline, (counter.word, counter.below, counter.fraction))


@inline
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


@inline
def take_logistic(slopes: Any, count: Any) -> None:
    """s(u . v) in the place of the first `count` products."""
    for t in range(_ZERO, count, _LANES):
        store(slopes, t, logistic(load(slopes, t)))


@inline
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


@inline
def draw(thresholds: Any, aliases: Any, x: Any) -> Any:
    """A place of an alias table out of a random word."""
    place = below(x, U(thresholds.size))
    return place if fraction(x) < thresholds[place] else U(aliases[place])


@inline
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


Both = tuple[NDArray[Any], NDArray[Any]]  # v and u


@inline
def _move_place(
    vectors: Any, turns: Any, walk: Any, place: Any, reach: Any, slopes: Any, rate: Any
) -> None:
    """Pair one place of a walk with those at most `reach` away; all of them share their rows."""
    begin = max(place - reach, 0)
    end = min(place + reach + 1, walk.size)
    count = turns[3]
    at = U(0)
    for other in range(begin, end):
        if other != place:
            take_products(vectors, U(walk[other]), turns, slopes, at)
            at += count
    take_logistic(slopes, at)
    at = U(0)
    for other in range(begin, end):
        if other != place:
            move_pair(vectors, U(walk[other]), turns, slopes, at, rate)
            at += count


@jit
def _hierarchical(
    walks: Any, paths: Any, vectors: Any, window: Any, line: Any, key: Any, slopes: Any
) -> None:
    offsets, rows, labels = paths
    stages, first_rate, fall = line
    number = vectors[0].dtype.type
    drawn = U(0)
    for stage in range(stages):
        walk = walks[stage % walks.shape[0]]
        rate = number(first_rate - fall * stage)
        for place in range(walk.size):
            o = U(walk[place])
            reach = 1 + np.int64(below(word(key, drawn), window))
            drawn += ONE
            turns = (rows, labels, offsets[o], offsets[o + ONE] - offsets[o])
            _move_place(vectors, turns, walk, place, reach, slopes, rate)


@jit
def _negative(
    walks: Any, noise: Any, vectors: Any, window: Any, line: Any, key: Any, buffers: Any
) -> None:
    rows, labels, slopes = buffers
    stages, first_rate, fall = line
    number = vectors[0].dtype.type
    drawn = U(0)
    for stage in range(stages):
        walk = walks[stage % walks.shape[0]]
        rate = number(first_rate - fall * stage)
        for place in range(walk.size):
            o = U(walk[place])
            reach = 1 + np.int64(below(word(key, drawn), window))
            rows[0] = o
            count = draw_negatives(noise, o, o, key, drawn + ONE, rows)
            drawn += U(noise[2]) + ONE
            turns = (rows, labels, U(0), count)
            _move_place(vectors, turns, walk, place, reach, slopes, rate)


@jit
def _pairs(table: Any, noise: Any, vectors: Any, line: Any, key: Any, buffers: Any) -> None:
    firsts, seconds, thresholds, aliases = table
    rows, labels, slopes = buffers
    samples, first_rate, fall = line
    number = vectors[0].dtype.type
    drawn = U(0)
    for sample in range(samples):
        rate = number(first_rate - fall * sample)
        place = draw(thresholds, aliases, word(key, drawn))
        i = U(firsts[place])
        o = U(seconds[place])
        rows[0] = o
        count = draw_negatives(noise, i, o, key, drawn + ONE, rows)
        drawn += U(noise[2]) + ONE
        turns = (rows, labels, U(0), count)
        take_products(vectors, i, turns, slopes, U(0))
        take_logistic(slopes, count)
        move_pair(vectors, i, turns, slopes, U(0), rate)


def hierarchical(
    walks: NDArray[np.int32],
    paths: Paths,
    vectors: Both,
    descent: Descent,
    window: int,
    passes: int,
    key: int,
) -> None:
    """Move `v` [n, d] and `u` [inner, d] in place over all pairs of the walks."""
    v, u = vectors
    flat = (_flat(v), _flat(u), _padded_width(v))
    line = _line(descent, passes * len(walks))
    tree = (paths.offsets, paths.rows, paths.labels.astype(v.dtype))
    slopes = _vectors(2 * window * paths.longest, v.dtype)
    _hierarchical(walks.view(np.uint32), tree, flat, U(window), line, U(key), slopes)
    _write(flat[0], v)
    _write(flat[1], u)


def negative(
    walks: NDArray[np.int32],
    noise: Noise,
    vectors: Both,
    descent: Descent,
    window: int,
    passes: int,
    key: int,
) -> None:
    """Move `v` and `u`, each [n, d], in place over all pairs of the walks."""
    v, u = vectors
    flat = (_flat(v), _flat(u), _padded_width(v))
    line = _line(descent, passes * len(walks))
    buffers = _buffers(noise, 2 * window * (noise.negatives + 1), v.dtype)
    _negative(walks.view(np.uint32), tuple(noise), flat, U(window), line, U(key), buffers)
    _write(flat[0], v)
    _write(flat[1], u)


def pairs(
    drawn: tuple[NDArray[Any], ...],
    noise: Noise,
    vectors: Both,
    descent: Descent,
    samples: int,
    key: int,
) -> None:
    """Move `v` and `u`, each [n, d] and possibly the same, in place over `samples` drawn pairs."""
    v, u = vectors
    lines = _flat(v)
    outputs = lines if u is v else _flat(u)
    flat = (lines, outputs, _padded_width(v))
    line = _line(descent, samples)
    buffers = _buffers(noise, noise.negatives + 1, v.dtype)
    _pairs(drawn, tuple(noise), flat, line, U(key), buffers)
    _write(lines, v)
    if u is not v:
        _write(outputs, u)


def _padded_width(v: NDArray[Any]) -> np.uint64:
    return U(v.shape[1] + -v.shape[1] % LANES)


def _flat(v: NDArray[Any]) -> NDArray[Any]:
    """A copy in one line, the rows padded by zeros to whole vectors; zeros stay zeros."""
    # torch's memory starts at a cache line, NumPy's may not: half as fast.
    lines = torch.zeros(len(v), int(_padded_width(v))).numpy()
    lines[:, : v.shape[1]] = v
    return lines.ravel()


def _write(lines: NDArray[Any], v: NDArray[Any]) -> None:
    """The rows back into `v`, without what they were padded by."""
    v[:] = lines.reshape(len(v), -1)[:, : v.shape[1]]


def _line(descent: Descent, stages: int) -> tuple[int, float, float]:
    """The number of stages, the first rate, and by how much it falls from stage to stage."""
    return stages, descent.rate, (descent.rate - descent.last_rate) / max(stages, 1)


def _buffers(noise: Noise, slopes: int, dtype: Any) -> tuple[NDArray[Any], ...]:
    """Room for o and its negatives, their labels, and that many slopes."""
    labels = np.zeros(noise.negatives + 1, dtype)
    labels[0] = 1.0
    return np.zeros(noise.negatives + 1, np.uint32), labels, _vectors(slopes, dtype)


def _vectors(count: int, dtype: Any) -> NDArray[Any]:
    """Room for `count` numbers in whole vectors."""
    return np.zeros(count + -count % LANES, dtype)
