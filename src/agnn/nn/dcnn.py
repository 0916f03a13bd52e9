"""The diffusion-convolutional network: features seen from 0, 1, 2, ... steps of a random walk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from agnn.graph import View
from agnn.kernels import Dropout, Link, TanhLinearLink
from agnn.nn.initialisation import generators, glorot_uniform, normal
from agnn.nn.node_model import ChainModel


class DCNN(ChainModel):
    """logits = tanh(X' diag(s)) W + b for X' = [X, P X, P^2 X, ...] (Atwood and Towsley 2016).

    The caller gives X', computed once; s holds one weight for every step and feature. No layer
    propagates, so a view is the rows themselves.
    """

    unexplained: ClassVar[str | None] = (
        "its features are propagated before training and pass through tanh, so no part of a logit "
        "belongs to one node"
    )

    def __init__(
        self, features: int, classes: int, seeds: Sequence[int] = (0,), *, backend: str = "auto"
    ) -> None:
        super().__init__(len(seeds), 0, backend)
        sources = generators(seeds)
        self.scale = nn.Parameter(normal(sources, features, deviation=0.01))
        self.weight = nn.Parameter(glorot_uniform(sources, features, classes))
        self.bias = nn.Parameter(torch.zeros(len(seeds), classes))

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The one operation; nothing is dropped."""
        parameters = (self.scale, self.weight, self.bias)
        return [TanhLinearLink(view.sparse_features, *parameters, self.backend)]
