"""Graph-CNN: spatial filters with one matrix for a node and one for its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import Propagation, View
from agnn.kernels import Attention, Dropout, heads_of, propagate
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, OUTPUT, NodeModel, at, rows_by_layer
from agnn.nn._paths import SUM_OVER_PATHS, Paths, two_summed_layers


class GraphCNN(NodeModel):
    """Two spatial filters (Such et al. 2017) with one slice of adjacency.

        H      = ReLU(dropout(X) V0 + A dropout(X) V1 + b)
        logits = dropout(H) W0 + A dropout(H) W1 + b'

    A is the unweighted adjacency matrix; column 2 f + s of a layer's matrix is feature f of
    slice s.
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
        self.first = FeatureLinear(features, hidden, sources, has_bias=False, heads=2)
        self.first_bias = nn.Parameter(torch.zeros(len(seeds), hidden))
        self.last = Linear(hidden, classes, sources, has_bias=False, heads=2)
        self.last_bias = nn.Parameter(torch.zeros(len(seeds), classes))

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
