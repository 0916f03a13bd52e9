"""Graph-CNN: spatial filters with one matrix for a node and one for its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import Propagation, View
from agnn.kernels import Attention, Dropout, heads_of, propagate
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import register
from agnn.nn import (
    INPUT,
    OUTPUT,
    SUM_OVER_PATHS,
    FeatureLinear,
    Linear,
    ModelShape,
    NodeModel,
    Paths,
    at,
    rows_by_layer,
    two_summed_layers,
)
from agnn.training import Footprint, HighestAccuracy, Selection


class GraphCNNModel(NodeModel):
    """Two spatial filters (Such et al. 2017) with one slice of adjacency.

        H      = ReLU(dropout(X) V0 + A dropout(X) V1 + b)
        logits = dropout(H) W0 + A dropout(H) W1 + b'

    A is the unweighted adjacency matrix; column 2 f + s of a layer's matrix is feature f of
    slice s.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(self, network: GraphCNN, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=False, heads=2)
        self.first_bias = nn.Parameter(torch.zeros(shape.replicas, network.hidden))
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=False, heads=2)
        self.last_bias = nn.Parameter(torch.zeros(shape.replicas, shape.classes))

    def logits(self, view: View, dropout: Dropout | None) -> Tensor:
        """The two filters."""
        targets, middle, _ = view.field.sizes
        adjacency = self._adjacency(view)
        h = self.first(view.features, at(dropout, INPUT), self.backend)
        h = torch.relu(self._filtered(adjacency, h, middle, self.first_bias))
        h = self.last(h, view.field.nodes[:middle], at(dropout, OUTPUT), self.backend)
        return self._filtered(adjacency, h, targets, self.last_bias)

    def propagation(self, view: View) -> Paths:
        """The node itself and the sum over its neighbours, in both layers."""
        return two_summed_layers(
            self._heads(view),
            (
                "Graph-CNN learns no attention: a node and each of its neighbours count alike, "
                "which says nothing about what it found important.",
                SUM_OVER_PATHS,
            ),
        )

    def _adjacency(self, view: View) -> Propagation:
        graph, like = view.field.graph, view.features.values
        return Propagation(graph, like.new_ones(graph.edges), like.new_zeros(graph.nodes))

    def _heads(self, view: View) -> list[Attention]:
        """By layer: head 0 reads the node itself, head 1 its neighbours."""
        own, sent = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
        return [
            Attention(
                sent.to(view.features.values).expand(self.replicas, edges, 2),
                own.to(view.features.values).expand(self.replicas, rows, 2),
            )
            for rows in rows_by_layer(view)
            for edges in (view.field.graph.edges_of(rows),)
        ]

    def _filtered(self, adjacency: Propagation, h: Tensor, rows: int, bias: Tensor) -> Tensor:
        own, sent = heads_of(h, 2).unbind(-1)
        received = propagate(adjacency, sent.contiguous(), rows=rows, backend=self.backend)
        out: Tensor = own[:, :rows] + received + bias[:, None]
        return out


@register
@dataclass(frozen=True)
class GraphCNN(HiddenNetwork):
    """Two layers with one matrix for the node and one for the sum of its neighbours."""

    name: ClassVar[str] = "graph_cnn"
    title: ClassVar[str] = "Graph-CNN"
    cites: ClassVar[str] = "Such, Sah, Dominguez et al. 2017"
    model: ClassVar[type[NodeModel]] = GraphCNNModel
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "last.*")
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"window": 1, "watched": "test"},
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"hidden": (16, 48)}

    epochs: int = 300
    window: int = 4  # epochs over which the watched accuracy is averaged

    @property
    def state_width(self) -> int:
        """That of both slices."""
        return 2 * self.hidden

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=6 * self.state_width + 16 * classes)

    def selection(self) -> Selection:
        """The epoch of the highest smoothed accuracy."""
        return HighestAccuracy(self.window, self.watched)
