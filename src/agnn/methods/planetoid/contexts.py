"""The pairs (node, context) that Planetoid's embeddings learn from, drawn batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from agnn.graph.adjacency import SparseMatrix

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # nodes [k], their contexts [k]


def label_pairs(
    labels: NDArray[np.int64], nodes: NDArray[np.int64], count: int, source: np.random.Generator
) -> Iterator[Pairs]:
    """Batches of `count` pairs: a node drawn from `nodes`, and one of its class; without end.

    `labels` are those of `nodes`. With a single class there is nothing to learn and no batch.
    """
    members = [nodes[labels == label] for label in range(labels.max() + 1)]
    if sum(each.size > 0 for each in members) < 2:
        return
    sizes = np.array([each.size for each in members])
    table = np.concatenate(members)
    starts = np.cumsum(sizes) - sizes
    while True:
        drawn = source.integers(nodes.size, size=count)
        kind = labels[drawn]
        partner = starts[kind] + (source.random(count) * sizes[kind]).astype(np.int64)
        yield nodes[drawn], table[partner]


def walk_pairs(
    graph: SparseMatrix,
    starts: NDArray[np.int64],
    batch: int,
    steps: int,
    window: int,
    source: np.random.Generator,
) -> Iterator[Pairs]:
    """Batches of pairs within `window` of each other on walks of `steps` steps; without end.

    `batch` walks make a batch. Every node of `starts` begins one before any begins a second; one
    without neighbours begins none. A node is also its own context, as in the authors' program.
    """
    starts = starts[np.diff(graph.indptr)[starts] > 0]
    while starts.size:
        order = source.permutation(starts)
        for first in range(0, order.size, batch):
            paths = walks(graph, order[first : first + batch], steps, source)
            yield _within(paths, window)


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


def _within(paths: NDArray[np.int64], window: int) -> Pairs:
    """All ordered pairs of entries of a path that are at most `window` apart."""
    length = paths.shape[1]
    nodes, contexts = [paths], [paths]
    for gap in range(1, min(window, length - 1) + 1):
        earlier, later = paths[:, :-gap], paths[:, gap:]
        nodes += [earlier, later]
        contexts += [later, earlier]
    return (
        np.concatenate([each.ravel() for each in nodes]),
        np.concatenate([each.ravel() for each in contexts]),
    )
