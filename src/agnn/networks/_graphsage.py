"""GraphSAGE: a node's own state and the mean over its neighbours, each mapped by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from agnn.data import Scaling
from agnn.graph import View
from agnn.kernels import (
    Attention,
    Dropout,
    Link,
    TorchLink,
    hold_gate,
    propagate,
)
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, INSIDE, OUTPUT, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._network import DeepNetwork
from agnn.networks._protocol import Count, register
from agnn.training import BestScore, Metric, Selection


class GraphSAGEModel(NodeModel):
    """GraphSAGE with the mean over all neighbours (Hamilton, Ying and Leskovec 2017).

        H(0)     = X
        H(t+1)_i = norm(ReLU(dropout(H(t))_i W_own + mean over j in N(i) of dropout(H(t))_j W_mean))
        logits   = dropout(H(l)) W1 + b1

    norm scales a row to length 1. Their program draws a few neighbours per node; here the mean is
    over all of them.
    """

    def __init__(self, network: GraphSAGE, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first_own = FeatureLinear(shape.features, network.hidden, sources, has_bias=False)
        self.first_mean = FeatureLinear(shape.features, network.hidden, sources, has_bias=False)
        self.own = nn.ModuleList(
            Linear(network.hidden, network.hidden, sources, has_bias=False)
            for _ in range(network.layers - 1)
        )
        self.mean = nn.ModuleList(
            Linear(network.hidden, network.hidden, sources, has_bias=False)
            for _ in range(network.layers - 1)
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """A node and the mean over its neighbours in every layer, and the last layer."""
        backend = self.backend

        # The mean of mapped states is the mapped mean, so the narrower of the two travels.
        def first_maps(_: Tensor) -> tuple[Tensor, Tensor]:
            drop = at(dropout, INPUT)
            itself: Tensor = self.first_own(view.features, drop, backend)
            return itself, self.first_mean(view.features, drop, backend)

        def maps(layer: int, h: Tensor) -> tuple[Tensor, Tensor]:
            drop = at(dropout, INSIDE + layer)
            read = view.field.nodes[: h.shape[1]]
            itself: Tensor = self.own[layer - 1](h, read, drop, backend)
            return itself, self.mean[layer - 1](h, read, drop, backend)

        chain: list[Link] = [
            _OwnAndMean(view, rows, partial(maps, t) if t else first_maps, backend)
            for t, rows in enumerate(rows_by_layer(view))
        ]
        return [*chain, self.last.link(view.field.targets, at(dropout, OUTPUT), backend)]


class _OwnAndMean(TorchLink):
    """norm(ReLU(own_i + mean over j in N(i) of sent_j)) for two maps of the input; [R, rows, d]."""

    is_over_edges: ClassVar[bool] = True
    is_gate: ClassVar[bool] = True
    note: str | None = (
        "GraphSAGE learns no attention: the neighbours of a node count alike, which says nothing "
        "about what it found important."
    )

    def __init__(
        self,
        view: View,
        rows: int,
        maps: Callable[[Tensor], tuple[Tensor, Tensor]],
        backend: str,
    ) -> None:
        self.propagation = view.mean_propagation
        self.rows = rows
        self.maps = maps
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        """The new states."""
        itself, sent = self.maps(x)
        mean = propagate(self.propagation, sent, rows=self.rows, backend=self.backend)
        mixed = itself[:, : self.rows] + mean
        return hold_gate(mixed, functional.normalize(functional.relu(mixed), dim=2))

    def weights(self, x: Tensor) -> list[Attention]:
        """The node itself and the mean over its neighbours."""
        edges = self.propagation.edge_weights[: self.propagation.graph.edges_of(self.rows)]
        loops = 1.0 + self.propagation.loop_weights[: self.rows]
        replicas = len(self.maps(x)[0])
        return [Attention(edges.expand(replicas, -1), loops.expand(replicas, -1))]


@register
@dataclass(frozen=True)
class GraphSAGE(DeepNetwork):
    """A node's own state and the mean over its neighbours, each through a map of its own.

    Adam's rate is that of its authors' program; width, dropout and weight decay, which they tune
    for other tasks, are those of the networks here.
    """

    name: ClassVar[str] = "graphsage"
    title: ClassVar[str] = "GraphSAGE"
    cites: ClassVar[str] = "Hamilton, Ying and Leskovec 2017"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = GraphSAGEModel
    rule: ClassVar[type[Selection]] = BestScore
    metric: ClassVar[Metric] = "best"

    layers: Count = 2  # propagation layers
    hidden: Count = 128  # width of the hidden states
    epochs: int = 1000  # at most
    patience: Count = 100  # epochs without progress that end the training
    scaling: Scaling = "length"
