"""FAGCN: learned weights between -1 and 1, so that an edge may add or subtract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from agnn.graph import View
from agnn.kernels import (
    Anchor,
    Attention,
    Dropout,
    DropoutAt,
    DropoutLink,
    Link,
    ReLU,
    TorchLink,
    dropout,
    weighted_sum,
)
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, INSIDE, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._network import DeepNetwork, presets_by_dataset
from agnn.networks._protocol import Count, Presets, register
from agnn.training import LowestLoss, Selection


class FAGCNModel(NodeModel):
    """Frequency adaptation graph convolutional network (Bo, Wang, Shi and Shen 2021).

        H(0)     = dropout(ReLU(dropout(X) W0 + b0))
        H(t+1)_i = epsilon H(0)_i + sum over j in N(i) of dropout(w)_ij H(t)_j
        w_ij     = tanh(a . H(t)_i + b . H(t)_j + c) / sqrt(d_i d_j)
        logits   = H(l) W1 + b1

    A positive weight makes neighbours alike (low frequencies), a negative one sets them apart.
    """

    def __init__(self, network: FAGCN, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.epsilon = network.epsilon
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=True)
        # The two vectors of a layer as one map: column 0 is the receiver's score, 1 the sender's.
        self.gates = nn.ModuleList(
            Linear(network.hidden, 2, sources, has_bias=True) for _ in range(network.layers)
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, propagation with the way back to H(0), last layer."""
        start = Anchor()
        chain: list[Link] = [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            ReLU(),
        ]
        if dropout is not None:
            nodes = view.field.nodes
            chain.append(DropoutLink(nodes, dropout.at(INSIDE), self.backend))
        chain.append(start)
        for t, rows in enumerate(rows_by_layer(view)):
            gate = cast(Linear, self.gates[t])
            drop = at(dropout, INSIDE + 1 + t)
            chain.append(_SignedSum(view, rows, gate, start, self.epsilon, drop, self.backend))
        last = self.last.link(view.field.targets, None, self.backend)
        return [*chain, last]


class _SignedSum(TorchLink):
    """epsilon H(0)_i + sum over j in N(i) of dropout(w)_ij h_j; [R, n, d] to [R, rows, d]."""

    is_over_edges: ClassVar[bool] = True
    note: str | None = (
        "FAGCN's weights are between -1 and 1 and scaled by the degrees: a negative one subtracts "
        "the neighbour. They are not shares and do not sum to 1."
    )

    def __init__(
        self,
        view: View,
        rows: int,
        gate: Linear,
        start: Anchor,
        epsilon: float,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        self.view = view
        self.rows = rows
        self.gate = gate
        self.start = start
        self.restart = epsilon
        self.drop = drop
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        """The new states."""
        edges = self._edge_weights(x)
        # Draws belong to an edge's index in the full graph.
        labels = self.view.field.edge_ids[: edges.shape[1]]
        edges = dropout(edges, labels, self.drop, backend=self.backend)
        loops = edges.new_zeros(len(edges), self.rows, 1)
        sent = weighted_sum(self.view.field.graph, x, edges, loops, backend=self.backend)
        return self.restart * self.start.state[:, : self.rows] + sent

    def weights(self, x: Tensor) -> list[Attention]:
        """The learned weights; a node has none for itself."""
        edges = self._edge_weights(x).squeeze(-1)
        return [Attention(edges, edges.new_zeros(len(edges), self.rows))]

    def _edge_weights(self, h: Tensor) -> Tensor:
        """The w of the edges into the first rows; [R, m', 1]."""
        graph = self.view.field.graph
        count = graph.edges_of(self.rows)
        scores = self.gate(h, self.view.field.nodes[: h.shape[1]], None, self.backend)
        score = scores[:, graph.receivers[:count], 0] + scores[:, graph.senders[:count], 1]
        scale: Tensor = self.view.adjacency_propagation.edge_weights[:count]
        return (torch.tanh(score) * scale)[..., None]


_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"layers": 4, "weight_decay": 0.001, "epsilon": 0.1, "dropout": 0.6},
    "citeseer": {"layers": 4, "weight_decay": 0.001, "epsilon": 0.2, "dropout": 0.6},
    "pubmed": {"layers": 4, "weight_decay": 0.0005, "epsilon": 0.2, "dropout": 0.6},
}


@register
@dataclass(frozen=True)
class FAGCN(DeepNetwork):
    """Layers with learned weights between -1 and 1, for like and for unlike neighbours.

    The defaults are those of its authors' program. Their settings for the fixed splits are not
    published: the presets were chosen on validation nodes.
    """

    name: ClassVar[str] = "fagcn"
    title: ClassVar[str] = "FAGCN"
    cites: ClassVar[str] = "Bo, Wang, Shi and Shen 2021"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = FAGCNModel
    rule: ClassVar[type[Selection]] = LowestLoss  # as in their program
    presets: ClassVar[Presets] = presets_by_dataset(_BY_DATASET)

    layers: Count = 2  # propagation layers
    hidden: Count = 32
    epsilon: float = 0.3  # the share of H(0) that every layer adds
    learning_rate: float = 0.01
    weight_decay: float = 5e-5
    dropout: float = 0.5
    epochs: int = 500
    patience: Count = 200  # epochs without progress that end the training
