"""GCN and its linear sibling GLN: two layers of convolution with fixed weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agnn.graph import View
from agnn.kernels import Dropout, Link, PropagateLink, ReLU
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, OUTPUT, ChainModel, at


class GCN(ChainModel):
    """Graph convolutional network, Eq. (1): softmax(P ReLU(P X W0) W1), as in its authors' code.

    P = D~^-1/2 (A + I) D~^-1/2; dropout on X and on the hidden states; no biases.
    """

    unexplained: ClassVar[str | None] = None
    reads_samples: ClassVar[bool] = True
    takes_bf16: ClassVar[bool] = True

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 16,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 2, backend)
        sources = generators(seeds)
        self.first = FeatureLinear(features, hidden, sources, has_bias=False)
        self.last = Linear(hidden, classes, sources, has_bias=False)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, propagation, ReLU, last layer, propagation."""
        weights, (targets, middle, _) = view.symmetric_propagation, view.field.sizes
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            PropagateLink(weights, middle, self.backend),
            *self.between(),
            self.last.link(view.field.nodes[:middle], at(dropout, OUTPUT), self.backend),
            PropagateLink(weights, targets, self.backend),
        ]

    def between(self) -> list[Link]:
        """The links between the two layers."""
        return [ReLU()]


class GLN(GCN):
    """Graph linear network, Eq. (3): softmax(P^2 X W0 W1), a GCN without its ReLU."""

    def between(self) -> list[Link]:
        """No links."""
        return []
