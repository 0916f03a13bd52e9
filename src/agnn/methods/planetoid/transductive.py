"""Planetoid-T: an embedding of its own for every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.graph import FeatureMatrix
from agnn.methods._protocol import register
from agnn.methods.planetoid.batches import Pairs
from agnn.methods.planetoid.context_softmax import ContextSoftmax
from agnn.methods.planetoid.head import Head
from agnn.methods.planetoid.initial import glorot
from agnn.methods.planetoid.state import Start, State, descend
from agnn.methods.planetoid.variant import Variant


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

    def state(self, start: Start) -> State:
        """Embeddings near zero."""
        return _Table(self.width, start)


class _Table(State):
    def __init__(self, width: int, start: Start) -> None:
        n = start.x.rows
        drawn = [source.normal(0.0, 0.01, size=(n, width)) for source in start.sources]
        # Row n is what a batch that has too few nodes is filled up with; nothing moves it.
        self.table = torch.zeros(len(drawn), n + 1, width, device=start.device)
        self.table[:, :n] = torch.from_numpy(np.stack(drawn))
        # No walk meets a node without neighbours: what it drew would stay, and mean nothing.
        self.table[:, start.lonely] = 0.0
        self.contexts = ContextSoftmax(glorot(width, n, start.sources, start.device))
        self.head = Head(start, width)

    @property
    def own(self) -> list[Tensor]:
        return [self.table]

    def embeddings(self, nodes: Tensor, x: FeatureMatrix) -> Tensor:
        return self.table[:, nodes]

    def learn_labels(self, nodes: Tensor, x: FeatureMatrix, labels: Tensor, rate: float) -> None:
        e = self.table[:, nodes].requires_grad_()
        descend(self.head.loss(x, e, labels), [*self.head.parameters, e], rate)
        self.table[:, nodes] = e.detach()

    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        places = pairs.nodes[..., None].expand(-1, -1, self.table.shape[2])
        h = self.table.gather(1, places)
        h.sub_(self.contexts.step(h, pairs, rate))
        self.table.scatter_(1, places, h)
