"""The pairs (node, context) that Planetoid's embeddings learn from, all drawn before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import SparseMatrix

Paths = NDArray[np.int64]  # [batches, paths of a batch, nodes of a path]


def label_paths(
    labels: NDArray[np.int64],
    nodes: NDArray[np.int64],
    count: int,
    batches: int,
    source: np.random.Generator,
) -> Paths:
    """Paths of two nodes: one drawn from `nodes`, and one of the same class.

    There are `batches` batches of `count` paths. `labels` are those of `nodes`. With a single
    class there is nothing to learn and the result has no batch.
    """
    order = np.argsort(labels, kind="stable")
    table = nodes[order]
    sizes = np.bincount(labels)
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
    """Uniform random walks of `steps` steps: `batches` batches of `count` walks.

    Every node of `starts` begins one walk before any begins a second. A node without neighbours
    begins none. If no node has neighbours, the result has no batch.
    """
    starts = starts[np.diff(graph.indptr)[starts] > 0]
    if not starts.size:
        return np.empty((0, count, steps + 1), np.int64)
    rounds = -(-batches * count // starts.size)
    order = [source.permutation(starts) for _ in range(rounds)]
    beginnings = np.concatenate([np.empty(0, np.int64), *order])[: batches * count]
    return walks(graph, beginnings, steps, source).reshape(batches, count, steps + 1)


def walks(
    graph: SparseMatrix, starts: NDArray[np.int64], steps: int, source: np.random.Generator
) -> NDArray[np.int64]:
    """Uniform random walks from `starts` [k], which must have neighbours; [k, steps + 1]."""
    paths = np.empty((starts.size, steps + 1), dtype=np.int64)
    paths[:, 0] = starts
    degrees = np.diff(graph.indptr)
    for step in range(steps):
        nodes = paths[:, step]
        choice = (source.random(starts.size) * degrees[nodes]).astype(np.int64)
        paths[:, step + 1] = graph.indices[graph.indptr[nodes] + choice]
    return paths


def within(length: int, window: int) -> NDArray[np.int64]:
    """The ordered pairs of positions on a path that are at most `window` apart; [2, k].

    A position is its own context, as in the authors' program.
    """
    i, j = np.indices((length, length)).reshape(2, -1)
    near = np.abs(i - j) <= window
    return np.stack([i[near], j[near]])


@dataclass(frozen=True, eq=False)
class Pairs:
    """One batch of R replicas: pair k is node `nodes[rows[k]]` with context `contexts[k]`.

    Pairs that only fill the shape have weight 0, the others 1. Nodes are padded with n.
    """

    nodes: Tensor  # [R, u], distinct except for the padding n
    rows: Tensor  # [R, k]
    contexts: Tensor  # [R, k], positions among the contexts
    weights: Tensor  # [R, k]


class Batches:
    """The batches of R replicas on a device, padded to one shape."""

    def __init__(
        self,
        paths: Sequence[Paths],
        places: NDArray[np.int64],
        pattern: NDArray[np.int64],
        device: str,
    ) -> None:
        """Pair the nodes of `paths`, which has one entry per replica, all of one shape.

        A missing node of a path is n. `places` [n + 1] is the position of each node among the
        contexts, -1 for a node that is in no pair. `pattern` [2, k] pairs positions on a path.
        """
        drawn = np.stack(paths, axis=1)  # [B, R, count, length]
        drawn = np.where(places[drawn] < 0, places.size - 1, drawn)
        read = drawn[..., : pattern[0].max() + 1]
        nodes, rows = _distinct(
            read.reshape(*read.shape[:2], read.shape[2] * read.shape[3]), places.size - 1
        )
        self.count = drawn.shape[0]
        self.nodes = torch.from_numpy(nodes).to(device)
        self.rows = torch.from_numpy(rows.reshape(read.shape)).to(device)
        self.places = torch.from_numpy(places[drawn]).to(device)
        self.nodes_of, self.contexts_of = torch.from_numpy(pattern).to(device)

    def __getitem__(self, batch: int) -> Pairs:
        positions = self.places[batch]
        rows = self.rows[batch]
        contexts = positions[..., self.contexts_of].flatten(1)
        is_pair = (contexts >= 0) & (positions[..., self.nodes_of].flatten(1) >= 0)
        return Pairs(
            self.nodes[batch],
            rows[..., self.nodes_of].flatten(1),
            contexts.clamp_min(0),
            is_pair.to(torch.float32),
        )


def _distinct(nodes: NDArray[np.int64], filler: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct entries along the last axis, ascending, and the index of each entry in them."""
    if not nodes.size:
        return nodes[..., :0], nodes
    order = np.argsort(nodes, axis=-1, kind="stable")
    ascending = np.take_along_axis(nodes, order, -1)
    is_new = np.diff(ascending, axis=-1, prepend=-1) > 0
    rank = np.cumsum(is_new, axis=-1) - 1
    rows = np.empty_like(nodes)
    np.put_along_axis(rows, order, rank, -1)
    distinct = np.full((*nodes.shape[:-1], int(rank.max()) + 1), filler)
    np.put_along_axis(distinct, rank, ascending, -1)
    return distinct, rows
