"""Skip-gram in compiled CPU code: one thread, pair after pair, as the reference orders them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.kernels._cpu.simd import LANES, compiled, inlined
from agnn.kernels._skip_gram.numba_step import (
    ONE,
    U,
    below,
    draw,
    draw_negatives,
    move_pair,
    take_logistic,
    take_products,
    word,
)

if TYPE_CHECKING:
    from agnn.kernels._skip_gram import Descent
    from agnn.kernels._skip_gram.tables import Paths

Table = tuple[NDArray[Any], NDArray[Any]]


@inlined
def _move_place(
    v: Any, u: Any, d: Any, walk: Any, place: Any, reach: Any, rows: Any, labels: Any, start: Any,
    count: Any, slopes: Any, rate: Any,
) -> None:  # fmt: skip
    """Pair one place of a walk with those at most `reach` away; all of them share their rows."""
    begin, end, at = max(place - reach, 0), min(place + reach + 1, walk.size), U(0)
    for other in range(begin, end):
        if other != place:
            take_products(v, U(walk[other]), u, d, rows, start, count, slopes, at)
            at += count
    take_logistic(slopes, at)
    at = U(0)
    for other in range(begin, end):
        if other != place:
            i = U(walk[other])
            move_pair(v, i, u, d, rows, labels, start, count, slopes, at, rate)
            at += count


@compiled
def _hierarchical(
    walks: Any, offsets: Any, rows: Any, labels: Any, v: Any, u: Any, d: Any, window: Any,
    stages: Any, first_rate: Any, fall: Any, key: Any, slopes: Any,
) -> None:  # fmt: skip
    drawn = U(0)
    for stage in range(stages):
        walk = walks[stage % walks.shape[0]]
        rate = v.dtype.type(first_rate - fall * stage)
        for place in range(walk.size):
            o = U(walk[place])
            reach = 1 + np.int64(below(word(key, drawn), window))
            drawn += ONE
            start, count = offsets[o], offsets[o + ONE] - offsets[o]
            _move_place(v, u, d, walk, place, reach, rows, labels, start, count, slopes, rate)


@compiled
def _negative(
    walks: Any, thresholds: Any, aliases: Any, v: Any, u: Any, d: Any, window: Any, stages: Any,
    first_rate: Any, fall: Any, negatives: Any, key: Any, rows: Any, labels: Any, slopes: Any,
) -> None:  # fmt: skip
    drawn = U(0)
    for stage in range(stages):
        walk = walks[stage % walks.shape[0]]
        rate = v.dtype.type(first_rate - fall * stage)
        for place in range(walk.size):
            o = U(walk[place])
            reach = 1 + np.int64(below(word(key, drawn), window))
            rows[0] = o
            count = draw_negatives(
                thresholds, aliases, negatives, o, o, key, drawn + ONE, rows, ONE
            )
            drawn += U(negatives) + ONE
            _move_place(v, u, d, walk, place, reach, rows, labels, U(0), count, slopes, rate)


@compiled
def _pairs(
    firsts: Any, seconds: Any, pair_thresholds: Any, pair_aliases: Any, thresholds: Any,
    aliases: Any, v: Any, u: Any, d: Any, samples: Any, first_rate: Any, fall: Any, negatives: Any,
    key: Any, rows: Any, labels: Any, slopes: Any,
) -> None:  # fmt: skip
    drawn = U(0)
    for sample in range(samples):
        rate = v.dtype.type(first_rate - fall * sample)
        place = draw(pair_thresholds, pair_aliases, word(key, drawn))
        i, o = U(firsts[place]), U(seconds[place])
        rows[0] = o
        count = draw_negatives(thresholds, aliases, negatives, i, o, key, drawn + ONE, rows, ONE)
        drawn += U(negatives) + ONE
        take_products(v, i, u, d, rows, U(0), count, slopes, U(0))
        take_logistic(slopes, count)
        move_pair(v, i, u, d, rows, labels, U(0), count, slopes, U(0), rate)


def hierarchical(
    walks: NDArray[np.int32], paths: Paths, v: NDArray[Any], u: NDArray[Any], descent: Descent,
    window: int, passes: int, key: int,
) -> None:  # fmt: skip
    """Move `v` [n, d] and `u` [inner, d] in place over all pairs of the walks."""
    lines, outputs, d = _flat(v), _flat(u), _padded(v)
    stages = passes * len(walks)
    slopes = _vectors(2 * window * paths.longest, v.dtype)
    _hierarchical(
        walks.view(np.uint32), paths.offsets, paths.rows, paths.labels.astype(v.dtype), lines,
        outputs, d, U(window), stages, *_line(descent, stages), U(key), slopes,
    )  # fmt: skip
    _write(lines, v)
    _write(outputs, u)


def negative(
    walks: NDArray[np.int32], noise: Table, v: NDArray[Any], u: NDArray[Any], descent: Descent,
    window: int, passes: int, negatives: int, key: int,
) -> None:  # fmt: skip
    """Move `v` and `u`, each [n, d], in place over all pairs of the walks."""
    lines, outputs, d = _flat(v), _flat(u), _padded(v)
    stages = passes * len(walks)
    _negative(
        walks.view(np.uint32), *noise, lines, outputs, d, U(window), stages,
        *_line(descent, stages), negatives, U(key), *_rows(negatives, v.dtype),
        _vectors(2 * window * (negatives + 1), v.dtype),
    )  # fmt: skip
    _write(lines, v)
    _write(outputs, u)


def pairs(
    drawn: tuple[NDArray[Any], ...], noise: Table, v: NDArray[Any], u: NDArray[Any],
    descent: Descent, samples: int, negatives: int, key: int,
) -> None:  # fmt: skip
    """Move `v` and `u`, each [n, d] and possibly the same, in place over `samples` drawn pairs."""
    lines = _flat(v)
    outputs, d = lines if u is v else _flat(u), _padded(v)
    _pairs(
        *drawn, *noise, lines, outputs, d, samples, *_line(descent, samples), negatives, U(key),
        *_rows(negatives, v.dtype), _vectors(negatives + 1, v.dtype),
    )  # fmt: skip
    _write(lines, v)
    if u is not v:
        _write(outputs, u)


def _padded(v: NDArray[Any]) -> np.uint64:
    return U(v.shape[1] + -v.shape[1] % LANES)


def _flat(v: NDArray[Any]) -> NDArray[Any]:
    """A copy in one line, the rows padded by zeros to whole vectors; zeros stay zeros."""
    # torch's memory starts at a cache line, NumPy's may not: half as fast.
    lines = torch.zeros(len(v), int(_padded(v))).numpy()
    lines[:, : v.shape[1]] = v
    return lines.ravel()


def _write(lines: NDArray[Any], v: NDArray[Any]) -> None:
    """The rows back into `v`, without what they were padded by."""
    v[:] = lines.reshape(len(v), -1)[:, : v.shape[1]]


def _line(descent: Descent, stages: int) -> tuple[float, float]:
    """The first rate, and by how much it falls from stage to stage."""
    return descent.rate, (descent.rate - descent.last_rate) / max(stages, 1)


def _rows(negatives: int, dtype: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Room for o and its negatives, and their labels."""
    labels = np.zeros(negatives + 1, dtype)
    labels[0] = 1.0
    return np.zeros(negatives + 1, np.uint32), labels


def _vectors(count: int, dtype: Any) -> NDArray[Any]:
    """Room for `count` numbers in whole vectors."""
    return np.zeros(count + -count % LANES, dtype)
