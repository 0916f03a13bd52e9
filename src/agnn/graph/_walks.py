"""Random walks on a graph: what they are, and their law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.graph._graph import Graph


@dataclass(frozen=True)
class Walks:
    """`per_node` walks of `length` nodes from every node that has a neighbour.

    A walk that stands at v and came from u goes to a neighbour x of v with a probability in
    proportion to 1/p where x = u, 1 where x is a neighbour of u, and 1/q elsewhere (Grover and
    Leskovec 2016). The first step, and every step where p = q = 1, is uniform.
    """

    per_node: int
    length: int
    p: float = 1.0
    q: float = 1.0

    def __post_init__(self) -> None:
        if self.per_node < 1:
            raise InputError(f"`per_node` must be at least 1; got {self.per_node}.")
        if self.length < 2:
            raise InputError(f"`length` must be at least 2 nodes; got {self.length}.")
        for name in ("p", "q"):
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise InputError(f"`{name}` must be a finite number above 0; got {value}.")

    @property
    def weights(self) -> tuple[float, float, float]:
        """The weight of going back, of staying near the last node, and of going on."""
        return 1.0 / self.p, 1.0, 1.0 / self.q

    def probabilities(self, graph: Graph, last: int, node: int) -> NDArray[np.float64]:
        """Return the law of the next node after `last`, `node`, over the neighbours of `node`."""
        back, near, on = self.weights
        near_last = np.isin(neighbours(graph, node), neighbours(graph, last))
        weight = np.where(near_last, near, on)
        weight[neighbours(graph, node) == last] = back
        law: NDArray[np.float64] = weight / weight.sum()
        return law


def neighbours(graph: Graph, node: int) -> NDArray[np.int32]:
    """Return N(i) of one node, ascending."""
    return graph.columns[graph.offsets[node] : graph.offsets[node + 1]].numpy()
