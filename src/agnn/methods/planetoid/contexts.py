"""The pairs (node, context) that Planetoid's embeddings learn from, drawn by seed in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from agnn.graph import SparseMatrix

Paths = NDArray[np.int64]  # [batches, paths of a batch, nodes of a path]


def label_paths(
    labels: NDArray[np.int64],
    nodes: NDArray[np.int64],
    count: int,
    batches: int,
    source: np.random.Generator,
) -> Paths:
    """`batches` times `count` paths of two: a node drawn from `nodes`, and one of its class.

    `labels` are those of `nodes`. With a single class there is nothing to learn and no batch.
    """
    order = np.argsort(labels, kind="stable")
    table, sizes = nodes[order], np.bincount(labels)
    if (sizes > 0).sum() < 2:
        return np.empty((0, count, 2), np.int64)
    starts = np.cumsum(sizes) - sizes
    drawn = source.integers(nodes.size, size=(batches, count))
    kind = labels[drawn]
    partner = starts[kind] + (source.random(drawn.shape) * sizes[kind]).astype(np.int64)
    return np.stack([nodes[drawn], table[partner]], axis=2)


def walk_paths(
    graph: SparseMatrix,
    starts: NDArray[np.int64],
    count: int,
    batches: int,
    steps: int,
    source: np.random.Generator,
) -> Paths:
    """`batches` times `count` uniform random walks of `steps` steps.

    Every node of `starts` begins one before any begins a second; one without neighbours begins
    none, and where no node has any there is no batch.
    """
    starts = starts[np.diff(graph.indptr)[starts] > 0]
    if not starts.size:
        return np.empty((0, count, steps + 1), np.int64)
    rounds = -(-batches * count // starts.size)
    order = [source.permutation(starts) for _ in range(rounds)]
    first = np.concatenate([np.empty(0, np.int64), *order])[: batches * count]
    return walks(graph, first, steps, source).reshape(batches, count, steps + 1)


def walks(
    graph: SparseMatrix, starts: NDArray[np.int64], steps: int, source: np.random.Generator
) -> NDArray[np.int64]:
    """Uniform random walks from `starts` [k], which must have neighbours; [k, steps + 1]."""
    paths = np.empty((starts.size, steps + 1), dtype=np.int64)
    paths[:, 0] = starts
    degrees = np.diff(graph.indptr)
    for step in range(steps):
        here = paths[:, step]
        choice = (source.random(starts.size) * degrees[here]).astype(np.int64)
        paths[:, step + 1] = graph.indices[graph.indptr[here] + choice]
    return paths


def within(length: int, window: int) -> NDArray[np.int64]:
    """The ordered pairs of places of a path that are at most `window` apart; [2, k].

    A place is its own context, as in the authors' program.
    """
    i, j = np.indices((length, length)).reshape(2, -1)
    near = np.abs(i - j) <= window
    return np.stack([i[near], j[near]])
