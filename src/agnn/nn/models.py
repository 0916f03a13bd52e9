"""AGNN, GLN and GCN: logits for the nodes of a view, for all replicas at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import View
from agnn.kernels import Attention, Dropout, Link, PropagateLink, ReLU, run_chain
from agnn.nn.initialisation import generators
from agnn.nn.layers import Beta, CosineAttention, Linear, SparseLinear
from agnn.nn.linear_form import (
    SUM_OVER_PATHS,
    Hop,
    LinearForm,
    Paths,
    Units,
    fixed_hops,
    fixed_note,
    last_hop,
)
from agnn.nn.node_model import INPUT, OUTPUT, ChainModel, at, rows_by_layer


class AGNN(ChainModel):
    """Attention-based graph neural network, Eq. (4) to (6) of the paper.

        H1      = ReLU(dropout(X) W0 + b0)
        H(t+1)  = P(t) H(t),  P(t)_i. = softmax over N(i) and i of beta(t) cos(H_i, H_j)
        logits  = dropout(H) W1 + b1

    The output layer acts on rows alone, so logits are computed at the targets only.
    """

    unexplained: ClassVar[str | None] = None

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
        self.first = SparseLinear(features, hidden, sources, has_bias=True)
        self.layers = nn.ModuleList(CosineAttention(beta, len(seeds)) for beta in betas)
        self.last = Linear(hidden, classes, sources, has_bias=True)

    @property
    def betas(self) -> Tensor:
        """Every layer's beta, fixed or learned; [R, l]."""
        if not self.layers:
            return self.first.weight.new_empty(self.replicas, 0)
        return torch.stack([layer.beta.detach() for layer in self._layers()], dim=1)

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

    def propagation(self, view: View) -> Paths:
        """Its attention, layer by layer."""
        hops = tuple(Hop(each) for each in self.attentions(view))
        return Paths(hops, self.combination, is_attention=True)

    @torch.no_grad()
    def linear_form(self, view: View) -> LinearForm:
        """The units of the first layer are gated, then averaged by attention."""
        states = self.first(view.features, None, self.backend)
        return LinearForm(
            paths=self.propagation(view),
            units=(Units(),) * self.hops,
            states=states,
            first_weight=self.first.weight,
            first_bias=self.first.bias,
            gate=states > 0,
            last_weight=self.last.weight,
            last_bias=self.last.bias,
        )

    @torch.no_grad()
    def attentions(self, view: View) -> list[Attention]:
        """P(1) to P(l) without dropout, each for the rows its layer computes."""
        graph = view.field.graph
        h = torch.relu(self.first(view.features, None, self.backend))
        found = []
        for layer, rows in zip(self._layers(), rows_by_layer(view), strict=True):
            found.append(layer.attention(graph, h, rows))
            h = layer(graph, h, rows, self.backend)
        return found

    def _layers(self) -> list[CosineAttention]:
        return [layer for layer in self.layers if isinstance(layer, CosineAttention)]


class GCN(ChainModel):
    """Graph convolutional network, Eq. (1): softmax(P ReLU(P X W0) W1), as in its authors' program.

    P = D~^-1/2 (A + I) D~^-1/2; dropout on X and on the hidden states; no biases.
    """

    unexplained: ClassVar[str | None] = None

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
        self.first = SparseLinear(features, hidden, sources, has_bias=False)
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
        """What stands between the two layers."""
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
        """Nothing stands between the two layers."""
        return []

    def _gate(self, before: Tensor) -> Tensor | None:
        return None

    def _notes(self) -> tuple[str, ...]:
        return (fixed_note("GLN"),)
