"""The definition of skip-gram's steps in NumPy, one pair after the other."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.kernels._counter import U, below, fraction, word
from agnn.kernels._skip_gram import Descent, Noise, Paths

Table = tuple[NDArray[Any], NDArray[Any]]
Both = tuple[NDArray[Any], NDArray[Any]]  # v and u
Pair = tuple[int, NDArray[Any], NDArray[Any]]  # i, rows of u, their labels


class Stream:
    """The words of a key, one after the other."""

    def __init__(self, key: int) -> None:
        self.key = np.array([key], np.uint64)
        self.count = np.zeros(1, np.uint64)

    def next(self) -> NDArray[np.uint64]:
        """The next word, as an array of one: arrays wrap round in silence."""
        x: NDArray[np.uint64] = word(self.key, self.count)
        self.count += U(1)
        return x


def slopes(v: NDArray[Any], u: NDArray[Any], pair: Pair) -> NDArray[Any]:
    """Minus the loss's derivative by each u . v_i of a pair: label - s(u . v_i)."""
    i, rows, labels = pair
    slope: NDArray[Any] = labels - (0.5 + 0.5 * np.tanh(0.5 * (u[rows] @ v[i])))
    return slope


def step(v: NDArray[Any], u: NDArray[Any], pairs: Sequence[Pair], rate: float) -> None:
    """Move v and u by the gradient of the pairs' sum of -log s((2 label - 1) u . v_i).

    All slopes are taken before anything moves; then pair after pair moves.
    """
    moves = [slopes(v, u, pair) for pair in pairs]
    for (i, rows, _), slope in zip(pairs, moves, strict=True):
        before = v[i].copy()
        for row, s in zip(rows, rate * slope, strict=True):
            v[i] += s * u[row]
            u[row] += s * before


def rates(descent: Descent, steps: int) -> NDArray[np.float64]:
    """The rate at each of `steps` stages, in a straight line down."""
    fall = np.arange(steps) / steps
    return descent.rate + (descent.last_rate - descent.rate) * fall


def places(
    walks: NDArray[np.int32], descent: Descent, window: int, passes: int, stream: Stream
) -> Iterator[tuple[int, list[int], float]]:
    """Every place's node o, the nodes i in its window, and the rate; a window is drawn for each."""
    for stage, rate in enumerate(rates(descent, passes * len(walks))):
        walk = walks[stage % len(walks)]
        for position, o in enumerate(walk):
            b = 1 + int(below(stream.next(), U(window))[0])
            near = range(max(position - b, 0), min(position + b + 1, walk.size))
            yield int(o), [int(walk[other]) for other in near if other != position], rate


def drawn_place(table: Table, stream: Stream) -> int:
    """A place of an alias table, by its weight."""
    x = stream.next()
    position = int(below(x, U(table[0].size))[0])
    return position if fraction(x)[0] < table[0][position] else int(table[1][position])


def with_negatives(
    o: int, noise: Noise, stream: Stream, passed: Container[int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows o and the drawn ones, those in `passed` left out; their labels 1 and 0."""
    drawn = [drawn_place(noise[:2], stream) for _ in range(noise.negatives)]
    rows = np.array([o, *(row for row in drawn if row not in passed)])
    return rows, (np.arange(rows.size) == 0).astype(np.float64)


def hierarchical(
    walks: NDArray[np.int32],
    paths: Paths,
    vectors: Both,
    descent: Descent,
    window: int,
    passes: int,
    key: int,
) -> None:
    """Move `v` [n, d] and `u` [inner, d] in place over all places of the walks."""
    v, u = vectors
    for o, near, rate in places(walks, descent, window, passes, Stream(key)):
        turns = slice(int(paths.offsets[o]), int(paths.offsets[o + 1]))
        step(v, u, [(i, paths.rows[turns], paths.labels[turns]) for i in near], rate)


def negative(
    walks: NDArray[np.int32],
    noise: Noise,
    vectors: Both,
    descent: Descent,
    window: int,
    passes: int,
    key: int,
) -> None:
    """Move `v` and `u`, each [n, d], in place over all places of the walks."""
    v, u = vectors
    stream = Stream(key)
    for o, near, rate in places(walks, descent, window, passes, stream):
        rows, labels = with_negatives(o, noise, stream, {o})
        step(v, u, [(i, rows, labels) for i in near], rate)


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
    firsts, seconds, *table = drawn
    stream = Stream(key)
    for rate in rates(descent, samples):
        position = drawn_place((table[0], table[1]), stream)
        i = int(firsts[position])
        o = int(seconds[position])
        # Where u is v, a vector is not compared with itself.
        rows, labels = with_negatives(o, noise, stream, {o, i})
        step(v, u, [(i, rows, labels)], rate)
