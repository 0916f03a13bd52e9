"""GCNII: a deep graph convolution with initial residual and identity mapping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from torch import nn

from agnn.graph import View
from agnn.kernels import Anchor, Blend, Dropout, DropoutLink, Link, PropagateLink, ReLU
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, INSIDE, OUTPUT, ChainModel, at, rows_by_layer


class GCNII(ChainModel):
    """Graph convolution with initial residual and identity mapping (Chen et al. 2020).

    H(0)   = ReLU(dropout(X) W + b)
    Z(t)   = (1 - alpha) P dropout(H(t-1)) + alpha H(0)
    H(t)   = ReLU((1 - beta_t) Z(t) + beta_t Z(t) W_t),  beta_t = log(lambda / t + 1)
    logits = dropout(H(l)) W' + b'
    """

    unexplained: ClassVar[str | None] = None
    reads_samples: ClassVar[bool] = True

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 64,
        layers: int = 64,
        alpha: float = 0.1,
        strength: float = 0.5,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), layers, backend)
        sources = generators(seeds)
        self.alpha = alpha
        self.shares = [math.log(strength / t + 1.0) for t in range(1, layers + 1)]
        self.first = FeatureLinear(features, hidden, sources, has_bias=True)
        self.layers = nn.ModuleList(
            Linear(hidden, hidden, sources, has_bias=False) for _ in range(layers)
        )
        self.last = Linear(hidden, classes, sources, has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, convolutions, last layer."""
        start, nodes = Anchor(), view.field.nodes
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
        layer, blended = self._layer(t), Anchor()
        return [
            PropagateLink(view.symmetric_propagation, rows, self.backend),
            Blend(start, 1.0 - self.alpha),
            blended,
            layer.link(view.field.nodes[:rows], None, self.backend),
            Blend(blended, self.shares[t]),
            ReLU(),
        ]
