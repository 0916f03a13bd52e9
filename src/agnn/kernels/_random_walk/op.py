"""Random walks: checks, order and dispatch, once for all backends."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.graph import Graph, Walks
from agnn.kernels._backends import implementation
from agnn.kernels._counter import U, stream_key, word

_ORDER, _STEPS = 1, 2  # the places that draw numbers


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
    starts, keys = names % U(graph.nodes), word(U(stream_key(seed, _STEPS)), names)
    chosen: _Backend = implementation("random_walk", backend, "cpu")
    return chosen.forward(graph, walks, starts, keys)
