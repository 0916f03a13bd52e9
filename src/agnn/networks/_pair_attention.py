"""Attention whose scores read both ends of an edge together: GATv2 and the transformer's."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from agnn.graph import View
from agnn.kernels import (
    Attention,
    Dropout,
    Link,
    TorchLink,
    dense_linear,
    dropout,
    heads_of,
    hold_gate,
    weighted_sum,
)
from agnn.networks._gat import GAT
from agnn.networks._layers import FeatureLinear, Linear, glorot_uniform
from agnn.networks._model import INPUT, INSIDE, OUTPUT, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._neighbourhoods import Neighbourhoods, at_nodes
from agnn.networks._protocol import register

_SLOPE = 0.2  # of the leaky ReLU, as in both papers on GAT
_Maps = Mapping[str, Tensor]  # the linear maps of a layer's input by name; [R, n, d K] each


class PairAttentionModel(NodeModel):
    """Two layers of attention with several heads; a subclass says how an edge is scored.

        H      = ELU(attention of K heads over the maps of dropout(X))
        logits = mean over the K' output heads of attention over the maps of dropout(H)

    An edge weighs the exponential of its score. Sums over neighbours are divided by the sum of
    the weights, so every sum is left to the kernels, whose order is fixed on every device.
    """

    maps: ClassVar[tuple[str, ...]]  # of a layer's input; what is summed is called "value"
    receiving: ClassVar[str]  # the map that a score reads of the receiver; it alone has a bias
    sending: ClassVar[str]  # the map that a score reads of the sender
    attends_to_itself: ClassVar[bool]  # else "skip" maps a node's own input

    def __init__(self, network: GATv2, shape: ModelShape) -> None:
        super().__init__(shape)
        self.heads = (network.heads, network.output_heads)
        sources = shape.generators()
        width = network.hidden * network.heads

        def maps_of_layer(
            kind: type[FeatureLinear | Linear], size: int, d: int, count: int
        ) -> nn.ModuleDict:
            maps = {
                name: kind(size, d, sources, has_bias=name == self.receiving, heads=count)
                for name in self.maps
            }
            if not self.attends_to_itself:
                skip_width = (
                    width if size == shape.features and kind is FeatureLinear else shape.classes
                )
                maps["skip"] = kind(size, skip_width, sources, has_bias=False)
            return nn.ModuleDict(maps)

        self.first = maps_of_layer(FeatureLinear, shape.features, network.hidden, network.heads)
        self.last = maps_of_layer(Linear, width, shape.classes, network.output_heads)
        self.first_bias = nn.Parameter(torch.zeros(shape.replicas, width))
        self.last_bias = nn.Parameter(torch.zeros(shape.replicas, shape.classes))
        self.add_scores(network.hidden, shape.classes, sources)

    def add_scores(self, hidden: int, classes: int, sources: Sequence[Generator]) -> None:
        """Add what `score` has to learn besides the maps; nothing by default."""

    @abstractmethod
    def score(self, layer: int, receiver: Tensor, sender: Tensor) -> Tensor:
        """The scores [R, m', K] from what is read of both ends of the edges [R, m', d, K]."""

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """Attention and ELU, attention and the mean over the output heads."""
        return [
            _PairLayer(self, view, 0, dropout),
            TorchLink(lambda h: hold_gate(h, functional.elu(h)), "ELU"),
            _PairLayer(self, view, 1, dropout),
        ]

    def first_maps(self, view: View, drop: Dropout | None) -> _Maps:
        """Return the maps of the features, with one draw for all."""
        draw = at(drop, INPUT)
        return {k: linear(view.features, draw, self.backend) for k, linear in self.first.items()}

    def last_maps(self, view: View, h: Tensor, drop: Dropout | None) -> _Maps:
        """Return the maps of the hidden states, with one draw for all."""
        draw = at(drop, OUTPUT)
        rows = view.field.nodes[: h.shape[1]]
        return {k: linear(h, rows, draw, self.backend) for k, linear in self.last.items()}


class _PairLayer(TorchLink):
    """Attention over the maps of a layer's input; [R, n, d K] to [R, rows, d' K']."""

    is_over_edges: ClassVar[bool] = True

    def __init__(
        self, model: PairAttentionModel, view: View, layer: int, dropout: Dropout | None
    ) -> None:
        self.model = model
        self.view = view
        self.layer = layer
        self.dropout = dropout
        self.rows = rows_by_layer(view)[layer]
        self.heads = model.heads[layer]
        self.is_attention = model.attends_to_itself
        self.note = None if self.is_attention else _SKIP

    def forward(self, x: Tensor) -> Tensor:
        """Heads side by side in the first layer, their mean in the last."""
        model = self.model
        field = self.view.field
        stream = INSIDE + 2 * self.layer
        maps = self._maps(x)
        edges, loops, totals = self._pair_weights(maps)
        # Draws belong to an edge's or node's index in the full graph.
        labels = field.edge_ids[: edges.shape[1]]
        nodes = field.nodes[: self.rows]
        edges = dropout(edges, labels, at(self.dropout, stream), backend=model.backend)
        loops = dropout(loops, nodes, at(self.dropout, stream + 1), backend=model.backend)
        sums = weighted_sum(field.graph, maps["value"], edges, loops, backend=model.backend)
        means = heads_of(sums, self.heads) / totals
        if self.layer == 0:
            out = means.flatten(2) + model.first_bias[:, None]
        else:
            out = means.mean(-1) + model.last_bias[:, None]
        return out if model.attends_to_itself else out + maps["skip"][:, : self.rows]

    def weights(self, x: Tensor) -> list[Attention]:
        """P by head."""
        edges, loops, totals = self._pair_weights(self._maps(x))
        total = totals.squeeze(2)
        receivers = self.view.field.graph.receivers[: edges.shape[1]]
        return [Attention(edges / total[:, receivers], loops / total)]

    def _maps(self, x: Tensor) -> _Maps:
        if self.layer == 0:
            return self.model.first_maps(self.view, self.dropout)
        return self.model.last_maps(self.view, x, self.dropout)

    def _pair_weights(self, maps: _Maps) -> tuple[Tensor, Tensor, Tensor]:
        """The weights of edges [R, m', K] and loops, and their totals [R, rows, 1, K]."""
        model = self.model
        graph = self.view.field.graph
        shape = (model.replicas, self.rows, self.heads)
        near = Neighbourhoods.of(self.view, self.rows)
        count = None if model.attends_to_itself else near.edges
        i = near.receivers[:count]
        j = near.senders[:count]
        receiving = at_nodes(heads_of(maps[model.receiving], self.heads), i)
        sending = at_nodes(heads_of(maps[model.sending], self.heads), j)
        score = model.score(self.layer, receiving, sending)
        lowest = score.new_full(shape, -math.inf)
        index = i[None, :, None].expand_as(score)
        highest = lowest.scatter_reduce(1, index, score.detach(), "amax")
        weights = torch.exp(score - highest[:, i])
        if model.attends_to_itself:
            edges, loops = near.parts(weights)
        else:
            edges = weights
            loops = weights.new_zeros(shape)
        edge_weights = graph.weights_as(edges.dtype)
        if edge_weights is not None:  # log w is added to the score of an edge, as in AGNN
            edges = edges * edge_weights[: near.edges, None]
        ones = edges.new_ones(model.replicas, maps["value"].shape[1], self.heads)
        totals = weighted_sum(graph, ones, edges, loops, backend=model.backend)
        # Only a node without neighbours that does not attend to itself has a total of 0.
        return edges, loops, torch.where(totals == 0, 1.0, totals)[:, :, None]


class GATv2Model(PairAttentionModel):
    """Graph attention whose ranking of neighbours depends on the receiver (Brody et al. 2022).

        score_ij = a . leaky_relu(W' x_i + b' + W x_j),  out_i = b + sum over j of P_ij W x_j

    over the neighbours j of i and i itself, for every head.
    """

    maps: ClassVar[tuple[str, ...]] = ("value", "receiver")
    receiving: ClassVar[str] = "receiver"
    sending: ClassVar[str] = "value"
    attends_to_itself: ClassVar[bool] = True

    def add_scores(self, hidden: int, classes: int, sources: Sequence[Generator]) -> None:
        """The vectors a of both layers; [R, d, K]."""

        def vector(width: int, heads: int) -> nn.Parameter:
            drawn = glorot_uniform(sources, width, 1, heads)
            return nn.Parameter(drawn.view(len(sources), width, heads))

        self.vectors = nn.ParameterList(
            vector(width, heads) for width, heads in zip((hidden, classes), self.heads, strict=True)
        )

    def score(self, layer: int, receiver: Tensor, sender: Tensor) -> Tensor:
        """The sum over a of the activated sum of both ends."""
        active = functional.leaky_relu(receiver + sender, _SLOPE).flatten(2)
        # By a kernel: torch adds up the gradient of a in an order that depends on the threads and
        # on how many replicas there are.
        weight = torch.diag_embed(self.vectors[layer]).flatten(1, 2)  # [R, d K, K]
        rows = torch.arange(active.shape[1], device=active.device)
        return dense_linear(active, weight, None, rows, backend=self.backend)


class GraphTransformerModel(PairAttentionModel):
    """The transformer's attention over the neighbours of a node (Shi et al. 2021).

        score_ij = (W_q x_i + b_q) . (W_k x_j) / sqrt(d)
        out_i    = b + W_s x_i + sum over j in N(i) of P_ij W_v x_j

    for every head. Without the edge features, gates and label propagation of the paper.
    """

    maps: ClassVar[tuple[str, ...]] = ("query", "key", "value")
    receiving: ClassVar[str] = "query"
    sending: ClassVar[str] = "key"
    attends_to_itself: ClassVar[bool] = False

    def score(self, layer: int, receiver: Tensor, sender: Tensor) -> Tensor:
        """The scaled dot product."""
        return (receiver * sender).sum(2) / math.sqrt(receiver.shape[2])


_SKIP = (
    "A node reads itself by a map of its own, beside the attention, which is over its neighbours "
    "alone."
)


@register
@dataclass(frozen=True)
class GATv2(GAT):
    """GAT with a score whose ranking of the neighbours depends on the receiver.

    The settings are those of GAT: its paper has other graphs, and PubMed with tuned settings.
    """

    name: ClassVar[str] = "gatv2"
    title: ClassVar[str] = "GATv2"
    cites: ClassVar[str] = "Brody, Alon and Yahav 2022"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = GATv2Model


@register
@dataclass(frozen=True)
class GraphTransformer(GATv2):
    """The transformer's attention over the neighbours of a node, beside the node itself.

    The settings are those of GAT: its paper has other graphs.
    """

    name: ClassVar[str] = "transformer"
    title: ClassVar[str] = "Graph transformer"
    cites: ClassVar[str] = "Shi, Huang, Feng et al. 2021"
    model: ClassVar[type[NodeModel]] = GraphTransformerModel
