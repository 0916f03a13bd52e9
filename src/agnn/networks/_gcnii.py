"""GCNII: a deep graph convolution with initial residual and identity mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import nn

from agnn.graph import View
from agnn.kernels import Anchor, Blend, Dropout, DropoutLink, Link, PropagateLink, ReLU
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, INSIDE, OUTPUT, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._network import DeepNetwork, presets_by_dataset
from agnn.networks._protocol import Count, Presets, register
from agnn.training import LowestLoss, Recipe, Selection


class GCNIIModel(NodeModel):
    """Graph convolution with initial residual and identity mapping (Chen et al. 2020).

    H(0)   = ReLU(dropout(X) W + b)
    Z(t)   = (1 - alpha) P dropout(H(t-1)) + alpha H(0)
    H(t)   = ReLU((1 - beta_t) Z(t) + beta_t Z(t) W_t),  beta_t = log(lambda / t + 1)
    logits = dropout(H(l)) W' + b'
    """

    def __init__(self, network: GCNII, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.alpha = network.alpha
        self.shares = [math.log(network.strength / t + 1.0) for t in range(1, network.layers + 1)]
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=True)
        self.layers = nn.ModuleList(
            Linear(network.hidden, network.hidden, sources, has_bias=False)
            for _ in range(network.layers)
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, convolutions, last layer."""
        start = Anchor()
        nodes = view.field.nodes
        chain: list[Link] = [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            ReLU(),
            start,
        ]
        for t, rows in enumerate(rows_by_layer(view)):
            if dropout is not None:
                read = nodes[: view.field.sizes[-1 - t]]
                chain.append(DropoutLink(read, dropout.at(INSIDE + t), self.backend))
            chain += self._convolution(view, t, rows, start)
        last = self.last.link(view.field.targets, at(dropout, OUTPUT), self.backend)
        return [*chain, last]

    def _layer(self, t: int) -> Linear:
        layer = self.layers[t]
        assert isinstance(layer, Linear)  # noqa: S101 (a ModuleList forgets its types)
        return layer

    def _convolution(self, view: View, t: int, rows: int, start: Anchor) -> list[Link]:
        layer = self._layer(t)
        blended = Anchor()
        return [
            PropagateLink(view.symmetric_propagation, rows, self.backend),
            Blend(start, 1.0 - self.alpha),
            blended,
            layer.link(view.field.nodes[:rows], None, self.backend),
            Blend(blended, self.shares[t]),
            ReLU(),
        ]


_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"layers": 64},
    "citeseer": {"layers": 32, "hidden": 256, "dropout": 0.7, "strength": 0.6},
    "pubmed": {"layers": 16, "hidden": 256, "dropout": 0.5, "strength": 0.4},
}


@register
@dataclass(frozen=True)
class GCNII(DeepNetwork):
    """A deep convolution with initial residual and identity mapping.

    The presets are its paper's settings for the fixed splits.
    """

    name: ClassVar[str] = "gcnii"
    title: ClassVar[str] = "GCNII"
    cites: ClassVar[str] = "Chen, Wei, Huang, Ding and Li 2020"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = GCNIIModel
    rule: ClassVar[type[Selection]] = LowestLoss
    decayed: ClassVar[tuple[str, ...]] = ("layers.*",)
    presets: ClassVar[Presets] = presets_by_dataset(_BY_DATASET)

    layers: Count = 8  # propagation layers
    hidden: Count = 64
    alpha: float = 0.1  # share of the first layer that every layer keeps
    strength: float = 0.5  # lambda: how slowly a layer's own matrix fades with depth
    weight_decay: float = 0.01  # of the convolutions
    dense_decay: float = 5e-4  # of the first and the last layer
    dropout: float = 0.6
    epochs: int = 1500
    patience: Count = 100  # epochs without progress that end the training

    def recipe(self) -> Recipe:
        """Adam with a separate weight decay for the first and the last layer."""
        return replace(super().recipe(), other_decay=self.dense_decay)
