"""The definition of a random walk's steps: all walks at once in NumPy, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.graph import Graph, Walks
from agnn.kernels._counter import U, below, fraction, word


def forward(
    graph: Graph, walks: Walks, starts: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """Walk k starts at `starts[k]` and draws under `keys[k]`; [k, length].

    A step proposes a uniform neighbour and takes it with a probability in proportion to its
    weight, else proposes again; every proposal is the walk's next word.
    """
    path = np.empty((starts.size, walks.length), np.int64)
    path[:, 0] = starts
    drawn = np.zeros(starts.size, np.uint64)
    for step in range(1, walks.length):
        waiting = np.arange(starts.size)
        while waiting.size:
            x = word(keys[waiting], drawn[waiting])
            drawn[waiting] += U(1)
            proposed = _neighbour(graph, path[waiting, step - 1], x)
            weight = _weights(graph, walks, path[waiting], step, proposed)
            taken = fraction(x) * max(walks.weights) < weight
            path[waiting[taken], step] = proposed[taken]
            waiting = waiting[~taken]
    return path.astype(np.int32)


def _neighbour(graph: Graph, nodes: NDArray[np.int64], x: NDArray[np.uint64]) -> NDArray[Any]:
    offsets, degrees = graph.offsets.numpy(), graph.degrees.numpy()
    place = offsets[nodes] + below(x, degrees[nodes].astype(np.uint64)).astype(np.int64)
    found: NDArray[np.int32] = graph.columns.numpy()[place]
    return found


def _weights(
    graph: Graph, walks: Walks, path: NDArray[np.int64], step: int, proposed: NDArray[Any]
) -> NDArray[np.float64]:
    if step == 1:
        return np.full(proposed.size, max(walks.weights))
    back, near, on = walks.weights
    last = path[:, step - 2]
    edges = graph.receivers.numpy() * graph.nodes + graph.senders.numpy()
    weight = np.where(np.isin(last * graph.nodes + proposed, edges), near, on)
    return np.where(proposed == last, back, weight)
