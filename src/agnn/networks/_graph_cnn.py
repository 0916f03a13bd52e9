"""Graph-CNN: spatial filters with one matrix for a node and one for its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import Propagation, View
from agnn.kernels import Attention, Dropout, Link, ReLU, TorchLink, heads_of, propagate
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, OUTPUT, ModelShape, NodeModel, at
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, Presets, register
from agnn.training import HighestAccuracy, Selection


class GraphCNNModel(NodeModel):
    """Two spatial filters (Such et al. 2017) with one slice of adjacency.

        H      = ReLU(dropout(X) V0 + A dropout(X) V1 + b)
        logits = dropout(H) W0 + A dropout(H) W1 + b'

    A is the unweighted adjacency matrix; column 2 f + s of a layer's matrix is feature f of
    slice s.
    """

    def __init__(self, network: GraphCNN, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=False, heads=2)
        self.first_bias = nn.Parameter(torch.zeros(shape.replicas, network.hidden))
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=False, heads=2)
        self.last_bias = nn.Parameter(torch.zeros(shape.replicas, shape.classes))

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The two filters."""
        targets, middle, _ = view.field.sizes
        graph = view.field.graph
        like = view.features.values
        adjacency = Propagation(graph, like.new_ones(graph.edges), like.new_zeros(graph.nodes))
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            _NeighbourSum(adjacency, middle, self.first_bias, self.backend),
            ReLU(),
            self.last.link(view.field.nodes[:middle], at(dropout, OUTPUT), self.backend),
            _NeighbourSum(adjacency, targets, self.last_bias, self.backend),
        ]


class _NeighbourSum(TorchLink):
    """h_0 + A h_1 + b for the two slices of the input; [R, n, 2 d] to [R, rows, d]."""

    is_over_edges: ClassVar[bool] = True
    note: str | None = (
        "Graph-CNN learns no attention: a node and each of its neighbours count alike, which says "
        "nothing about what it found important."
    )

    def __init__(self, adjacency: Propagation, rows: int, bias: Tensor, backend: str) -> None:
        self.adjacency = adjacency
        self.rows = rows
        self.bias = bias
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        """The new states."""
        itself, sent = heads_of(x, 2).unbind(-1)
        received = propagate(
            self.adjacency, sent.contiguous(), rows=self.rows, backend=self.backend
        )
        out: Tensor = itself[:, : self.rows] + received + self.bias[:, None]
        return out

    def weights(self, x: Tensor) -> list[Attention]:
        """The node itself and the sum over its neighbours."""
        edges = self.adjacency.graph.edges_of(self.rows)
        return [Attention(x.new_ones(len(x), edges), x.new_ones(len(x), self.rows))]


@register
@dataclass(frozen=True)
class GraphCNN(HiddenNetwork):
    """Two layers with one matrix for the node and one for the sum of its neighbours."""

    name: ClassVar[str] = "graph_cnn"
    title: ClassVar[str] = "Graph-CNN"
    cites: ClassVar[str] = "Such, Sah, Dominguez et al. 2017"
    model: ClassVar[type[NodeModel]] = GraphCNNModel
    rule: ClassVar[type[Selection]] = HighestAccuracy
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "last.*")
    presets: ClassVar[Presets] = {
        ("cross-validation", "*"): {"window": 1, "watched": "test"},
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"hidden": (16, 48)}

    epochs: int = 300
    window: Count = 4  # epochs over which the watched accuracy is averaged
