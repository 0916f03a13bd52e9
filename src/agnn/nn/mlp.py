"""The multilayer perceptron: a model that reads a node's own features and no neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from agnn.graph import View
from agnn.kernels import Dropout, Link, ReLU, run_chain
from agnn.nn.initialisation import generators
from agnn.nn.layers import Linear, SparseLinear
from agnn.nn.node_model import ChainModel

# Where dropout acts. The numbers are part of what a seed means: do not renumber.
_INPUT, _OUTPUT = 0, 1


class MLP(ChainModel):
    """logits = dropout(ReLU(dropout(X) W0 + b0)) W1 + b1, with or without the biases."""

    unexplained: ClassVar[str | None] = "it depends on the node's own features alone"

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 16,
        has_bias: bool = True,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 0, backend)
        sources = generators(seeds)
        self.first = SparseLinear(features, hidden, sources, has_bias=has_bias)
        self.last = Linear(hidden, classes, sources, has_bias=has_bias)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, ReLU, last layer."""
        inner, outer = (
            None if dropout is None else dropout.at(place) for place in (_INPUT, _OUTPUT)
        )
        return [
            self.first.link(view.features, inner, self.backend),
            ReLU(),
            self.last.link(view.field.targets, outer, self.backend),
        ]

    def hidden_states(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """ReLU(dropout(X) W0 + b0); [R, targets, d]."""
        return run_chain(self.links(view, dropout)[:2], view.features.values)
