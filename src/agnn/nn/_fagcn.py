"""FAGCN: learned weights between -1 and 1, so that an edge may add or subtract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from agnn.graph import View
from agnn.kernels import Attention, Dropout, dropout, weighted_sum
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, INSIDE, NodeModel, at, rows_by_layer
from agnn.nn._paths import Hop, Paths, last_hop


class FAGCN(NodeModel):
    """Frequency adaptation graph convolutional network (Bo, Wang, Shi and Shen 2021).

        H(0)     = dropout(ReLU(dropout(X) W0 + b0))
        H(t+1)_i = epsilon H(0)_i + sum over j in N(i) of dropout(w)_ij H(t)_j
        w_ij     = tanh(a . H(t)_i + b . H(t)_j + c) / sqrt(d_i d_j)
        logits   = H(l) W1 + b1

    A positive weight makes neighbours alike (low frequencies), a negative one sets them apart.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 32,
        layers: int = 2,
        epsilon: float = 0.3,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), layers, backend)
        sources = generators(seeds)
        self.epsilon = epsilon
        self.first = FeatureLinear(features, hidden, sources, has_bias=True)
        # The two vectors of a layer as one map: column 0 is the receiver's score, 1 the sender's.
        self.gates = nn.ModuleList(Linear(hidden, 2, sources, has_bias=True) for _ in range(layers))
        self.last = Linear(hidden, classes, sources, has_bias=True)

    def logits(self, view: View, drop: Dropout | None) -> Tensor:
        """Logits [R, targets, c]."""
        h = torch.relu(self.first(view.features, at(drop, INPUT), self.backend))
        h = start = dropout(h, view.field.nodes, at(drop, INSIDE), backend=self.backend)
        for t, rows in enumerate(rows_by_layer(view)):
            weights = self._weights(view, t, h, rows)
            h = self._propagated(view, h, self._dropped(view, weights, drop, t), start, rows)
        logits: Tensor = self.last(h, view.field.targets, None, self.backend)
        return logits

    @torch.no_grad()
    def propagation(self, view: View) -> Paths:
        """Every layer's learned weights, and the way back to H(0)."""
        h = start = torch.relu(self.first(view.features, None, self.backend))
        hops = []
        for t, rows in enumerate(rows_by_layer(view)):
            edges = self._weights(view, t, h, rows)
            loops = edges.new_zeros(self.replicas, rows)
            hops.append(Hop(Attention(edges.squeeze(-1), loops), restart=self.epsilon))
            h = self._propagated(view, h, edges, start, rows)
        notes = (
            "FAGCN's weights are between -1 and 1 and scaled by the degrees: a negative one "
            "subtracts the neighbour. They are not shares and do not sum to 1.",
        )
        return Paths(tuple(hops), last_hop(self.hops), is_attention=False, notes=notes)

    def _weights(self, view: View, layer: int, h: Tensor, rows: int) -> Tensor:
        """The w of the edges into the first `rows` rows; [R, m', 1]."""
        graph = view.field.graph
        count = graph.edges_of(rows)
        scores = cast(Linear, self.gates[layer])(
            h, view.field.nodes[: h.shape[1]], None, self.backend
        )
        score = scores[:, graph.receivers[:count], 0] + scores[:, graph.senders[:count], 1]
        scale: Tensor = view.adjacency_propagation.edge_weights[:count]
        return (torch.tanh(score) * scale)[..., None]

    def _dropped(self, view: View, weights: Tensor, drop: Dropout | None, layer: int) -> Tensor:
        """The weights after dropout; draws belong to an edge's index in the full graph."""
        edges = view.field.edge_ids[: weights.shape[1]]
        return dropout(weights, edges, at(drop, INSIDE + 1 + layer), backend=self.backend)

    def _propagated(self, view: View, h: Tensor, edges: Tensor, start: Tensor, rows: int) -> Tensor:
        """The state after a layer; [R, rows, d]."""
        loops = edges.new_zeros(self.replicas, rows, 1)
        sent = weighted_sum(view.field.graph, h, edges, loops, backend=self.backend)
        return self.epsilon * start[:, :rows] + sent
