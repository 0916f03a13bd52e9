"""AGNN, GLN and GCN: logits for the nodes of a view, for all replicas at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from agnn.errors import InputError
from agnn.graph import View
from agnn.kernels import Attention, Dropout, DropoutAt, propagate
from agnn.nn.initialisation import generators
from agnn.nn.layers import Beta, CosineAttention, Linear, SparseLinear

# Where dropout acts. The numbers are part of what a seed means: do not renumber.
_INPUT, _OUTPUT = 0, 1


class NodeModel(nn.Module, ABC):
    """A model that gives every replica's logits at the targets of a view."""

    def __init__(self, replicas: int, hops: int, backend: str) -> None:
        super().__init__()
        self.replicas = replicas
        self.hops = hops
        self.backend = backend

    @abstractmethod
    def forward(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """Logits [R, targets, c]; with `dropout` for a training step, without to evaluate."""

    def check(self, view: View) -> None:
        """Raise if the view is not deep enough for this model."""
        if view.field.hops != self.hops:
            raise InputError(
                f"the model has {self.hops} propagation layers, the view is {view.field.hops} deep."
            )


class AGNN(NodeModel):
    """Attention-based graph neural network, Eq. (4) to (6) of the paper.

        H1      = ReLU(dropout(X) W0 + b0)
        H(t+1)  = P(t) H(t),  P(t)_i. = softmax over N(i) and i of beta(t) cos(H_i, H_j)
        logits  = dropout(H) W1 + b1

    The output layer acts on rows alone, so logits are computed at the targets only.
    """

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

    def forward(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """Logits [R, targets, c]."""
        self.check(view)
        h = self._first_states(view, dropout)
        for layer, rows in zip(self._layers(), self._rows(view), strict=True):
            h = layer(view.field.graph, h, rows, self.backend)
        output: Tensor = self.last(h, view.field.targets, _at(dropout, _OUTPUT), self.backend)
        return output

    @torch.no_grad()
    def attentions(self, view: View) -> list[Attention]:
        """P(1) to P(l) without dropout, each for the rows its layer computes."""
        self.check(view)
        h, graph = self._first_states(view, None), view.field.graph
        found = []
        for layer, rows in zip(self._layers(), self._rows(view), strict=True):
            found.append(layer.attention(graph, h, rows))
            h = layer(graph, h, rows, self.backend)
        return found

    def _first_states(self, view: View, dropout: Dropout | None) -> Tensor:
        return torch.relu(self.first(view.features, _at(dropout, _INPUT), self.backend))

    def _layers(self) -> list[CosineAttention]:
        return [layer for layer in self.layers if isinstance(layer, CosineAttention)]

    def _rows(self, view: View) -> tuple[int, ...]:
        return view.field.sizes[-2::-1]  # from the outermost layer to the targets


class GCN(NodeModel):
    """Graph convolutional network, Eq. (1): softmax(P ReLU(P X W0) W1), as in its authors' program.

    P = D~^-1/2 (A + I) D~^-1/2; dropout on X and on the hidden states; no biases.
    """

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

    def forward(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """Logits [R, targets, c]."""
        self.check(view)
        weights, (targets, middle, _) = view.symmetric_propagation, view.field.sizes
        h = self.first(view.features, _at(dropout, _INPUT), self.backend)
        h = self.activation(propagate(weights, h, rows=middle, backend=self.backend))
        h = self.last(h, view.field.nodes[:middle], _at(dropout, _OUTPUT), self.backend)
        return propagate(weights, h, rows=targets, backend=self.backend)

    def activation(self, h: Tensor) -> Tensor:
        """What stands between the two layers."""
        return torch.relu(h)


class GLN(GCN):
    """Graph linear network, Eq. (3): softmax(P^2 X W0 W1), a GCN without its ReLU."""

    def activation(self, h: Tensor) -> Tensor:
        """Nothing stands between the two layers."""
        return h


def _at(dropout: Dropout | None, place: int) -> DropoutAt | None:
    return None if dropout is None else dropout.at(place)
