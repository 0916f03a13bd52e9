"""Planetoid-I: an embedding computed from the features, so that unseen nodes have one, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.methods.planetoid.context_softmax import ContextSoftmax
from agnn.methods.planetoid.contexts import Pairs
from agnn.methods.planetoid.head import Head
from agnn.methods.planetoid.initial import glorot
from agnn.methods.planetoid.variant import Array, State, Variant
from agnn.methods.registry import register

if TYPE_CHECKING:
    from agnn.data.features import SparseRows


@register
@dataclass(frozen=True)
class PlanetoidI(Variant):
    """The classifier over features and E = ReLU(X W + w); test nodes are in no context.

    The fields are the settings of the authors' program for CiteSeer. As there, the context loss
    shares W with the classifier and has a bias of its own.
    """

    name: ClassVar[str] = "planetoid_i"
    title: ClassVar[str] = "Planetoid-I"
    cites: ClassVar[str] = "Yang, Cohen and Salakhutdinov 2016"
    note: ClassVar[str] = "One of the two variants that `planetoid` chooses from; see there."

    context_rate: float = 1e-3
    label_pairs: int = 20
    label_batches: int = 10_000
    walks: int = 20
    walk_batches: int = 400
    walk_share: float = 0.1

    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """All but the test nodes."""
        return np.setdiff1d(np.arange(data.nodes), split.test)

    def state(
        self, data: NodeData, x: SparseRows, split: Split, source: np.random.Generator
    ) -> State:
        """Weights as Glorot draws them."""
        return _Encoder(self.width, data, x, self.context_nodes(data, split), source)


class _Encoder(State):
    def __init__(
        self,
        width: int,
        data: NodeData,
        x: SparseRows,
        seen: NDArray[np.int64],
        source: np.random.Generator,
    ) -> None:
        self.x = x
        self.weight = glorot(data.feature_count, width, source)
        self.bias = np.zeros(width, dtype=np.float32)
        self.context_bias = np.zeros(width, dtype=np.float32)
        self.place = np.full(data.nodes, -1)  # of a node among the contexts; -1: it is in none
        self.place[seen] = np.arange(seen.size)
        self.contexts = ContextSoftmax(width, seen.size, source)
        self.head = Head(data.feature_count, width, data.classes, source)

    def embeddings(self, nodes: NDArray[np.int64]) -> Array:
        return np.asarray(np.maximum(self.x[nodes] @ self.weight + self.bias, 0.0))

    def move(self, nodes: NDArray[np.int64], gradient: Array, rate: float) -> None:
        x = self.x[nodes]
        slope = gradient * (x @ self.weight + self.bias > 0.0)
        self.weight -= rate * (x.T @ slope)
        self.bias -= rate * slope.sum(axis=0)

    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        is_seen = (self.place[pairs[0]] >= 0) & (self.place[pairs[1]] >= 0)
        nodes, rows = np.unique(pairs[0][is_seen], return_inverse=True)
        x = self.x[nodes]
        h = np.maximum(x @ self.weight + self.context_bias, 0.0)
        gradient = self.contexts.step(h, rows, self.place[pairs[1][is_seen]], rate)
        slope = gradient * (h > 0.0)
        self.weight -= rate * (x.T @ slope)
        self.context_bias -= rate * slope.sum(axis=0)
