"""AGNN: attention with one scalar per layer, between two linear layers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from agnn.errors import InputError
from agnn.graph import View
from agnn.kernels import Dropout, Link, ReLU
from agnn.nn._initialisation import generators
from agnn.nn._layers import Beta, CosineAttention, FeatureLinear, Linear
from agnn.nn._node_model import INPUT, OUTPUT, ChainModel, at, rows_by_layer
from agnn.nn._paths import last_hop


class AGNN(ChainModel):
    """Attention-based graph neural network, Eq. (4) to (6) of the paper.

        H1      = ReLU(dropout(X) W0 + b0)
        H(t+1)  = P(t) H(t),  P(t)_i. = softmax over N(i) and i of beta(t) cos(H_i, H_j)
        logits  = dropout(H) W1 + b1

    The output layer acts on rows alone, so logits are computed at the targets only.
    """

    unexplained: ClassVar[str | None] = None
    reads_samples: ClassVar[bool] = True
    takes_bf16: ClassVar[bool] = True

    # Whether ReLU acts on what the output layer reads, and not on H1.
    relu_after_hops: bool = False

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        betas: Sequence[Beta] = (Beta(), Beta()),
        hidden: int = 16,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), len(betas), backend)
        sources = generators(seeds)
        self.first = FeatureLinear(features, hidden, sources, has_bias=True)
        self.layers = nn.ModuleList(CosineAttention(beta, len(seeds)) for beta in betas)
        self.last = Linear(hidden, classes, sources, has_bias=True)

    @property
    def betas(self) -> Tensor:
        """The beta of every layer, fixed or learned; [R, l]."""
        if not self.layers:
            return self.first.weight.new_empty(self.replicas, 0)
        return torch.stack([layer.beta.detach() for layer in self._layers()], dim=1)

    def with_betas(self, betas: Sequence[float]) -> Self:
        """A copy whose layers have these betas, the same in every replica."""
        if len(betas) != self.hops:
            raise InputError(f"`betas` must have {self.hops} numbers; got {len(betas)}.")
        copy = deepcopy(self)
        with torch.no_grad():
            for layer, beta in zip(copy._layers(), betas, strict=True):
                layer.beta.fill_(float(beta))
        return copy

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, ReLU, attention layers, last layer."""
        field = view.field
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            ReLU(),
            *(
                layer.link(field.graph, rows, self.backend)
                for layer, rows in zip(self._layers(), rows_by_layer(view), strict=True)
            ),
            self.last.link(field.targets, at(dropout, OUTPUT), self.backend),
        ]

    @property
    def combination(self) -> tuple[float, ...]:
        """The weight of each state H(0) to H(l) in what the output layer reads: the last alone."""
        return last_hop(self.hops)

    def _layers(self) -> list[CosineAttention]:
        return [layer for layer in self.layers if isinstance(layer, CosineAttention)]
