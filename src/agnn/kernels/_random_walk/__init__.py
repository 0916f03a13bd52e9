"""Random walks: interface and definition."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.graph import Graph, Walks
from agnn.kernels._backends import implementation
from agnn.kernels._counter import U, below, fraction, stream_key, word

# the places that draw numbers
_ORDER = 1
_STEPS = 2


class _Backend(Protocol):
    def forward(
        self, graph: Graph, walks: Walks, starts: NDArray[np.uint64], keys: NDArray[np.uint64]
    ) -> NDArray[np.int32]: ...


def random_walks(
    graph: Graph, walks: Walks, seed: int, *, backend: str = "auto"
) -> NDArray[np.int32]:
    """The walks from every node with a neighbour, round by round; [per_node * nodes, length].

    Each round visits the starting nodes in an order of its own. A walk is a function of seed,
    round and starting node: neither threads nor the order of work change it.
    """
    if graph.device.type != "cpu":
        raise InputError(f"random walks run on the CPU; the graph is on {graph.device}.")
    nodes = np.flatnonzero(graph.degrees.numpy()).astype(np.uint64)
    rounds = np.arange(walks.per_node, dtype=np.uint64)[:, None]
    names = rounds * U(graph.nodes) + nodes  # [rounds, nodes]: one a walk
    order = np.argsort(word(U(stream_key(seed, _ORDER)), names), axis=1, kind="stable")
    names = np.take_along_axis(names, order, axis=1).ravel()
    starts = names % U(graph.nodes)
    keys = word(U(stream_key(seed, _STEPS)), names)
    chosen: _Backend = implementation("random_walk", backend, "cpu")
    return chosen.forward(graph, walks, starts, keys)


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
            is_taken = fraction(x) * max(walks.weights) < weight
            path[waiting[is_taken], step] = proposed[is_taken]
            waiting = waiting[~is_taken]
    return path.astype(np.int32)


def _neighbour(graph: Graph, nodes: NDArray[np.int64], x: NDArray[np.uint64]) -> NDArray[Any]:
    offsets = graph.offsets.numpy()
    degrees = graph.degrees.numpy()
    position = offsets[nodes] + below(x, degrees[nodes].astype(np.uint64)).astype(np.int64)
    neighbours: NDArray[np.int32] = graph.columns.numpy()[position]
    return neighbours


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
