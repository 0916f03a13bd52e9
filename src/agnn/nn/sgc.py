"""Simple graph convolution: a linear classifier on features that were propagated before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agnn.graph import View
from agnn.kernels import Dropout, Link
from agnn.nn.initialisation import generators
from agnn.nn.layers import SparseLinear
from agnn.nn.node_model import INPUT, ChainModel, at


class SGC(ChainModel):
    """logits = dropout(X') W + b for features X' = P^k X, which the caller gives (Wu et al. 2019).

    No layer propagates, so a view is the rows themselves.
    """

    unexplained: ClassVar[str | None] = "it reads features that were propagated before training"

    def __init__(
        self, features: int, classes: int, seeds: Sequence[int] = (0,), *, backend: str = "auto"
    ) -> None:
        super().__init__(len(seeds), 0, backend)
        self.first = SparseLinear(features, classes, generators(seeds), has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The one layer."""
        return [self.first.link(view.features, at(dropout, INPUT), self.backend)]
