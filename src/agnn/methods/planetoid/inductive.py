"""Planetoid-I: an embedding computed from the features, so that unseen nodes have one, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.graph import FeatureMatrix
from agnn.kernels import sparse_linear
from agnn.methods._protocol import register
from agnn.methods.planetoid.batches import Pairs
from agnn.methods.planetoid.context_softmax import ContextSoftmax
from agnn.methods.planetoid.dense_rows import DenseRows
from agnn.methods.planetoid.head import Head
from agnn.methods.planetoid.initial import glorot
from agnn.methods.planetoid.state import Start, State, descend
from agnn.methods.planetoid.variant import Variant


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

    def state(self, start: Start) -> State:
        """Weights as Glorot draws them."""
        return _Encoder(self.width, start)


class _Encoder(State):
    def __init__(self, width: int, start: Start) -> None:
        self.backend, self.rows = start.backend, DenseRows(start.x)
        self.weight = glorot(start.x.width, width, start.sources, start.device).requires_grad_()
        self.bias = self.weight.new_zeros(len(start.sources), width).requires_grad_()
        self.context_bias = self.weight.new_zeros(len(start.sources), width)
        seen = int((start.places >= 0).sum())
        self.contexts = ContextSoftmax(glorot(width, seen, start.sources, start.device))
        self.head = Head(start, width)

    @property
    def own(self) -> list[Tensor]:
        return [self.weight, self.bias]

    def embeddings(self, nodes: Tensor, x: FeatureMatrix) -> Tensor:
        return sparse_linear(x, self.weight, self.bias, backend=self.backend).relu()

    def learn_labels(self, nodes: Tensor, x: FeatureMatrix, labels: Tensor, rate: float) -> None:
        loss = self.head.loss(x, self.embeddings(nodes, x), labels)
        descend(loss, [*self.head.parameters, *self.own], rate)

    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        x, weight = self.rows(pairs.nodes), self.weight.detach()  # x [R, u, d_x]
        h = (x @ weight + self.context_bias[:, None]).relu()
        move = self.contexts.step(h, pairs, rate) * (h > 0.0)
        weight.baddbmm_(x.mT, move, alpha=-1.0)
        self.context_bias.sub_(move.sum(1))
