"""Planetoid-T: an embedding of its own for every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.methods.planetoid.context_softmax import ContextSoftmax
from agnn.methods.planetoid.contexts import Pairs
from agnn.methods.planetoid.head import Head
from agnn.methods.planetoid.variant import Array, State, Variant
from agnn.methods.registry import register

if TYPE_CHECKING:
    from agnn.data.features import SparseRows


@register
@dataclass(frozen=True)
class PlanetoidT(Variant):
    """The classifier over features and a table E [n, d] that is trained on contexts of all nodes.

    The fields are the settings of the authors' program for CiteSeer.
    """

    name: ClassVar[str] = "planetoid_t"
    title: ClassVar[str] = "Planetoid-T"
    cites: ClassVar[str] = "Yang, Cohen and Salakhutdinov 2016"
    note: ClassVar[str] = "One of the two variants that `planetoid` chooses from; see there."

    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """All of them."""
        return np.arange(data.nodes)

    def state(
        self, data: NodeData, x: SparseRows, split: Split, source: np.random.Generator
    ) -> State:
        """Embeddings near zero."""
        return _Table(self.width, data, source)


class _Table(State):
    def __init__(self, width: int, data: NodeData, source: np.random.Generator) -> None:
        self.table = source.normal(0.0, 0.01, size=(data.nodes, width)).astype(np.float32)
        # No walk meets a node without neighbours: what it drew would stay, and mean nothing.
        self.table[np.bincount(data.edges.ravel(), minlength=data.nodes) == 0] = 0.0
        self.contexts = ContextSoftmax(width, data.nodes, source)
        self.head = Head(data.feature_count, width, data.classes, source)

    def embeddings(self, nodes: NDArray[np.int64]) -> Array:
        return self.table[nodes]

    def move(self, nodes: NDArray[np.int64], gradient: Array, rate: float) -> None:
        self.table[nodes] -= rate * gradient

    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        nodes, rows = np.unique(pairs[0], return_inverse=True)
        self.table[nodes] -= rate * self.contexts.step(self.table[nodes], rows, pairs[1], rate)
