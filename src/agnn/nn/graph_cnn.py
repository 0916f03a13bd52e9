"""Graph-CNN: spatial filters, one weight matrix for a node and one for its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from agnn.graph import Propagation, View
from agnn.kernels import Dropout, heads_of, propagate
from agnn.nn.initialisation import generators
from agnn.nn.layers import Linear, SparseLinear
from agnn.nn.node_model import INPUT, OUTPUT, NodeModel, at


class GraphCNN(NodeModel):
    """Two spatial filters (Such et al. 2017) with one slice of adjacency.

        H      = ReLU(dropout(X) V0 + A dropout(X) V1 + b)
        logits = dropout(H) W0 + A dropout(H) W1 + b'

    A is the adjacency as it is, without weights; column 2 f + s of a layer's matrix is feature f of
    slice s.
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
        self.first = SparseLinear(features, hidden, sources, has_bias=False, heads=2)
        self.first_bias = nn.Parameter(torch.zeros(len(seeds), hidden))
        self.last = Linear(hidden, classes, sources, has_bias=False, heads=2)
        self.last_bias = nn.Parameter(torch.zeros(len(seeds), classes))

    def logits(self, view: View, dropout: Dropout | None) -> Tensor:
        """The two filters."""
        targets, middle, _ = view.field.sizes
        graph = view.field.graph
        like = view.features.values
        adjacency = Propagation(graph, like.new_ones(graph.edges), like.new_zeros(graph.nodes))
        h = self.first(view.features, at(dropout, INPUT), self.backend)
        h = torch.relu(self._filtered(adjacency, h, middle, self.first_bias))
        h = self.last(h, view.field.nodes[:middle], at(dropout, OUTPUT), self.backend)
        return self._filtered(adjacency, h, targets, self.last_bias)

    def _filtered(self, adjacency: Propagation, h: Tensor, rows: int, bias: Tensor) -> Tensor:
        own, sent = heads_of(h, 2).unbind(-1)
        received = propagate(adjacency, sent.contiguous(), rows=rows, backend=self.backend)
        out: Tensor = own[:, :rows] + received + bias[:, None]
        return out
