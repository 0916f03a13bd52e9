"""FAGCN: learned weights between -1 and 1, so that an edge may add or subtract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from agnn.errors import InputError
from agnn.graph import View
from agnn.kernels import Attention, Dropout, dropout, weighted_sum
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import register
from agnn.nn import (
    INPUT,
    INSIDE,
    FeatureLinear,
    Hop,
    Linear,
    ModelShape,
    NodeModel,
    Paths,
    at,
    last_hop,
    rows_by_layer,
)
from agnn.training import Footprint, LowestLoss, Selection


class FAGCNModel(NodeModel):
    """Frequency adaptation graph convolutional network (Bo, Wang, Shi and Shen 2021).

        H(0)     = dropout(ReLU(dropout(X) W0 + b0))
        H(t+1)_i = epsilon H(0)_i + sum over j in N(i) of dropout(w)_ij H(t)_j
        w_ij     = tanh(a . H(t)_i + b . H(t)_j + c) / sqrt(d_i d_j)
        logits   = H(l) W1 + b1

    A positive weight makes neighbours alike (low frequencies), a negative one sets them apart.
    """

    unexplained: ClassVar[str | None] = None

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


_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"layers": 4, "weight_decay": 0.001, "epsilon": 0.1, "dropout": 0.6},
    "citeseer": {"layers": 4, "weight_decay": 0.001, "epsilon": 0.2, "dropout": 0.6},
    "pubmed": {"layers": 4, "weight_decay": 0.0005, "epsilon": 0.2, "dropout": 0.6},
}


@register
@dataclass(frozen=True)
class FAGCN(HiddenNetwork):
    """Layers with learned weights between -1 and 1, for like and for unlike neighbours.

    The defaults are those of its authors' program. Their settings for the fixed splits are not
    published: the presets were chosen on validation nodes.
    """

    name: ClassVar[str] = "fagcn"
    title: ClassVar[str] = "FAGCN"
    cites: ClassVar[str] = "Bo, Wang, Shi and Shen 2021"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = FAGCNModel
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        **{
            (setting, dataset): fields
            for setting in ("fixed", "random")
            for dataset, fields in _BY_DATASET.items()
        },
        **HiddenNetwork.presets,
    }

    layers: int = 2  # propagation layers
    hidden: int = 32
    epsilon: float = 0.3  # the share of H(0) that every layer adds
    learning_rate: float = 0.01
    weight_decay: float = 5e-5
    dropout: float = 0.5
    epochs: int = 500
    patience: int = 200  # epochs without progress that end the training

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=4 * self.layers * self.hidden, per_edge=8 * self.layers)

    def selection(self) -> Selection:
        """The epoch with the lowest loss, as in their program."""
        return LowestLoss(self.patience, self.watched)
