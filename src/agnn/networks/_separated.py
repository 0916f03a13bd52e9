"""The separated block, which keeps a node's own state apart from its neighbours'.

Averaging a node with its neighbours erases what tells it apart from them. Where edges join nodes
of different classes that is the signal, so both are given to a linear map, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Literal, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from agnn.data import NodeData, Scaling
from agnn.graph import View
from agnn.kernels import (
    Dropout,
    DropoutLink,
    LayerNormLink,
    Link,
    PropagateLink,
    buffer_like,
)
from agnn.networks._layers import Beta, CosineAttention, FeatureLinear, Linear
from agnn.networks._model import INPUT, INSIDE, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._network import DeepNetwork
from agnn.networks._protocol import Count, Method, register
from agnn.training import BestScore, Metric, Selection

Weights = Literal["attention", "symmetric"]
Normalisation = Literal["layer", "none"]


class _Block(nn.Module):
    """GELU([Z, M] W + b) W' + b' for own states Z and neighbourhood means M."""

    def __init__(self, width: int, sources: Sequence[torch.Generator]) -> None:
        super().__init__()
        # [Z, M] W is Z W_own + M W_mean: nothing has to be copied side by side. Each half starts
        # as Glorot's for its own shape.
        self.own = Linear(width, width, sources, has_bias=True)
        self.mean = Linear(width, width, sources, has_bias=False)
        self.outer = Linear(width, width, sources, has_bias=True)


class SeparatedModel(NodeModel):
    """A deep network of separated blocks, after Platonov et al. 2023.

        H(0)   = dropout(GELU(dropout(X) W0 + b0))
        Z      = norm(H(t)),  M = P(t) Z
        H(t+1) = H(t) + dropout(dropout(GELU([Z, M] W + b)) W' + b')
        logits = norm(H(l)) W1 + b1

    P(t) is the attention of AGNN or the fixed weights of GCN; norm scales every node's state to
    mean 0 and variance 1, or is left out.
    """

    def __init__(self, network: Separated, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.normalisation = network.normalisation
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=True)
        self.blocks = nn.ModuleList(_Block(network.hidden, sources) for _ in range(network.layers))
        self.attention = nn.ModuleList(
            CosineAttention(Beta(), shape.replicas)
            for _ in range(network.layers if network.weights == "attention" else 0)
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=True)

    @property
    def betas(self) -> Tensor | None:
        """Every attention layer's scalar, [R, l]; None with fixed weights."""
        if not self.attention:
            return None
        return torch.stack([self._attention(t).beta.detach() for t in range(self.hops)], dim=1)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, blocks, last layer."""
        nodes = view.field.nodes
        chain: list[Link] = [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            _GELU(),
        ]
        if dropout is not None:
            chain.append(DropoutLink(nodes, dropout.at(INSIDE), self.backend))
        chain += [_SeparatedBlock(self, view, t, dropout) for t in range(self.hops)]
        last = self.last.link(view.field.targets, None, self.backend)
        return [*chain, *self.normalisation_links(), last]

    # A ModuleList forgets its types.
    def block(self, layer: int) -> _Block:
        """Return the maps of one layer."""
        return cast(_Block, self.blocks[layer])

    def _attention(self, layer: int) -> CosineAttention:
        return cast(CosineAttention, self.attention[layer])

    def normalisation_links(self) -> list[Link]:
        """Return norm(h) as links, none where it is left out."""
        if self.normalisation == "none":
            return []
        return [LayerNormLink(self.last.weight.device, self.backend)]

    def propagation_link(self, view: View, layer: int, rows: int) -> Link:
        """Return P(t) Z at the first `rows` nodes."""
        if self.attention:
            return self._attention(layer).link(view.field.graph, rows, self.backend)
        return PropagateLink(view.symmetric_propagation, rows, self.backend)


class _GELU(Link):
    """GELU(x), entry by entry."""

    is_gate: ClassVar[bool] = True

    def forward(self, x: Tensor) -> Tensor:
        """The output; the input is kept."""
        self.saved = (x,)
        if (buffer := buffer_like(x)) is None:
            return functional.gelu(x)
        out: Tensor = torch.ops.aten.gelu.out(x, out=buffer)
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient at the input."""
        operation = torch.ops.aten.gelu_backward
        if (buffer := buffer_like(gradient)) is None:
            return operation(gradient, self.saved[0]), ()
        return operation.grad_input(gradient, self.saved[0], grad_input=buffer), ()


class _SeparatedBlock(Link):
    """H(t) to H(t+1); [R, n, d] to [R, rows, d].

    Its parts are links, which it runs forwards and backwards.
    """

    is_over_edges: ClassVar[bool] = True
    unexplained: ClassVar[str | None] = (
        "its blocks add a normalised transformation of each state to the state itself, so a path "
        "has no single weight"
    )

    def __init__(
        self, model: SeparatedModel, view: View, layer: int, dropout: Dropout | None
    ) -> None:
        backend = model.backend
        block = model.block(layer)
        stream = INSIDE + 1 + 2 * layer
        self.rows = rows_by_layer(view)[layer]
        nodes = view.field.nodes[: self.rows]
        self.normalise = model.normalisation_links()
        self.propagate = model.propagation_link(view, layer, self.rows)
        self.own = block.own.link(nodes, None, backend)
        self.mean = block.mean.link(nodes, None, backend)
        self.after: list[Link] = [_GELU(), block.outer.link(nodes, at(dropout, stream), backend)]
        if dropout is not None:
            self.after.append(DropoutLink(nodes, dropout.at(stream + 1), backend))
        self.parts = [*self.normalise, self.own, self.propagate, self.mean, *self.after]
        self.parameters = tuple(parameter for link in self.parts for parameter in link.parameters)
        self.watched = tuple(tensor for link in self.parts for tensor in link.watched)

    def forward(self, x: Tensor) -> Tensor:
        """The new states."""
        z = _through(self.normalise, x)
        states = self.own.forward(z[:, : self.rows].contiguous())
        states += self.mean.forward(self.propagate.forward(z))
        out = _through(self.after, states).add_(x[:, : self.rows])
        self.saved = tuple(tensor for link in self.parts for tensor in link.saved)
        self.counts = [len(link.saved) for link in self.parts]
        for link in self.parts:
            link.saved = ()
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states and at all parameters."""
        saved = iter(self.saved)
        for link, count in zip(self.parts, self.counts, strict=True):
            link.saved = tuple(islice(saved, count))
        of_after = list[Tensor]()
        slopes = gradient
        for link in reversed(self.after):
            slopes, of_link = link.backward(slopes)
            of_after[:0] = of_link
        of_means, of_mean = self.mean.backward(slopes)
        of_z, of_propagation = self.propagate.backward(of_means)
        of_rows, of_own = self.own.backward(slopes)
        of_z[:, : self.rows] += of_rows
        for link in self.normalise:
            of_z, _ = link.backward(of_z)
        of_z[:, : self.rows] += gradient
        for link in self.parts:
            link.saved = ()
        return of_z, (*of_own, *of_propagation, *of_mean, *of_after)


def _through(links: Sequence[Link], x: Tensor) -> Tensor:
    """The output of links one after the other."""
    for link in links:
        x = link.forward(x)
    return x


@register
@dataclass(frozen=True)
class Separated(DeepNetwork):
    """Residual blocks that read a node's own state beside the mean of its neighbourhood.

    With two classes the epoch is chosen by the area under the ROC curve, otherwise by accuracy.
    By default three settings are tried on the validation nodes, and the best is trained: this one,
    one twice as deep, and a strongly regularised one for few nodes with many features. Changing
    any of the fields in which they differ switches that off.
    """

    name: ClassVar[str] = "separated"
    title: ClassVar[str] = "Separated"
    cites: ClassVar[str] = "Platonov, Kuznedelev, Diskin et al. 2023"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = SeparatedModel
    rule: ClassVar[type[Selection]] = BestScore
    metric: ClassVar[Metric] = "best"
    limits: ClassVar[Mapping[str, int]] = {"hidden": 32}  # a shorter patience was not measured
    candidates: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"layers": 5, "dropout": 0.2, "weight_decay": 0.0, "scaling": "standard"},
        {"layers": 10, "dropout": 0.2, "weight_decay": 0.0, "scaling": "standard"},
        {"layers": 5, "dropout": 0.5, "weight_decay": 5e-3, "scaling": "length"},
    )

    layers: Count = 5  # propagation layers
    hidden: Count = 64  # width of the hidden states
    learning_rate: float = 3e-3  # of Adam
    weight_decay: float = 0.0  # weight of the L2 penalty
    dropout: float = 0.2  # share of states that a step drops
    scaling: Scaling = "standard"
    epochs: int = 1000  # at most
    patience: Count = 200  # epochs without progress that end the training
    weights: Weights = "symmetric"  # of the edges
    normalisation: Normalisation = "layer"  # before every layer
    tries_candidates: bool = True  # whether settings are chosen on validation nodes

    def with_fields(self, **changes: Any) -> Self:
        """A copy with some hyper-parameters changed; None changes nothing."""
        given = {name for name, value in changes.items() if value is not None}
        if given & set(self.candidates[0]):
            changes = {"tries_candidates": False} | changes
        return super().with_fields(**changes)

    def for_data(self, data: NodeData) -> Method:
        """Itself: the candidates differ in how they scale features."""
        return self

    def work(self, data: NodeData) -> float:
        """(layers x (2 edges + nodes x (1 + width / 8)) + non-zero features) x width."""
        per_layer = 2 * data.edges.shape[1] + data.nodes * (1 + self.hidden / 8)
        return float((self.layers * per_layer + data.features.nnz) * self.hidden)

    def alternatives(self) -> Sequence[Method]:
        """Return the candidates, unless one of their fields was set."""
        if not self.tries_candidates:
            return ()
        return [replace(self, tries_candidates=False, **fields) for fields in self.candidates]
