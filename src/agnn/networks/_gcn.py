"""GCN and its linear sibling GLN: two layers of convolution with fixed weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnn.graph import View
from agnn.kernels import Dropout, Link, PropagateLink, ReLU
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, OUTPUT, ModelShape, NodeModel, at
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, register
from agnn.training import Selection, WindowStop


class GCNModel(NodeModel):
    """Graph convolutional network, Eq. (1): softmax(P ReLU(P X W0) W1), as in its authors' code.

    P = D~^-1/2 (A + I) D~^-1/2; dropout on X and on the hidden states; no biases.
    """

    def __init__(self, network: GCN, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=False)
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=False)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, propagation, ReLU, last layer, propagation."""
        weights = view.symmetric_propagation
        (targets, middle, _) = view.field.sizes
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


class GLNModel(GCNModel):
    """Graph linear network, Eq. (3): softmax(P^2 X W0 W1), a GCN without its ReLU."""

    def between(self) -> list[Link]:
        """No links."""
        return []


@register
@dataclass(frozen=True)
class GCN(HiddenNetwork):
    """softmax(P ReLU(P X W0) W1), Eq. (1), trained as in Kipf and Welling's code."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"
    cites: ClassVar[str] = "Kipf and Welling 2017"
    uses_edge_weights: ClassVar[bool] = True
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    model: ClassVar[type[NodeModel]] = GCNModel
    rule: ClassVar[type[Selection]] = WindowStop

    window: Count = 10  # training stops at a watched loss above the mean of this many epochs


@register
@dataclass(frozen=True)
class GLN(GCN):
    """softmax(P^2 X W0 W1), Eq. (3), with GCN's settings."""

    name: ClassVar[str] = "gln"
    title: ClassVar[str] = "GLN"
    cites: ClassVar[str] = "Thekumparampil, Wang, Oh and Li 2018"
    model: ClassVar[type[NodeModel]] = GLNModel
