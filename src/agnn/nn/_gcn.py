"""GCN and its linear sibling GLN: two layers of convolution with fixed weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from agnn.graph import View
from agnn.kernels import Dropout, Link, PropagateLink, ReLU, run_chain
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._linear_form import (
    SUM_OVER_PATHS,
    LinearForm,
    Paths,
    Units,
    fixed_hops,
    fixed_note,
    last_hop,
)
from agnn.nn._node_model import INPUT, OUTPUT, ChainModel, at, rows_by_layer


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

    def propagation(self, view: View) -> Paths:
        """The fixed matrix, twice."""
        hops = fixed_hops(view, self.replicas, rows_by_layer(view))
        return Paths(hops, last_hop(2), is_attention=False, notes=self._notes())

    @torch.no_grad()
    def linear_form(self, view: View) -> LinearForm:
        """The units between the two layers are gated."""
        links = self.links(view, None)
        states = run_chain(links[:1], view.features.values)
        return LinearForm(
            paths=self.propagation(view),
            units=(Units(gate=self._gate(run_chain(links[1:2], states))), Units()),
            states=states,
            first_weight=self.first.weight,
            last_weight=self.last.weight,
        )

    def _gate(self, before: Tensor) -> Tensor | None:
        return before > 0

    def _notes(self) -> tuple[str, ...]:
        return (fixed_note("GCN"), SUM_OVER_PATHS)


class GLN(GCN):
    """Graph linear network, Eq. (3): softmax(P^2 X W0 W1), a GCN without its ReLU."""

    def between(self) -> list[Link]:
        """No links."""
        return []

    def _gate(self, before: Tensor) -> Tensor | None:
        return None

    def _notes(self) -> tuple[str, ...]:
        return (fixed_note("GLN"),)
