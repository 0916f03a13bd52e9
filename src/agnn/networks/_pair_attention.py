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
    dense_linear,
    dropout,
    heads_of,
    scale_held,
    weighted_sum,
)
from agnn.networks._gat import GAT
from agnn.networks._protocol import register
from agnn.nn import (
    INPUT,
    INSIDE,
    OUTPUT,
    FeatureLinear,
    Hop,
    Linear,
    ModelShape,
    Neighbourhoods,
    NodeModel,
    Paths,
    at,
    at_nodes,
    glorot_uniform,
    last_hop,
)
from agnn.training import Footprint

_SLOPE = 0.2  # of the leaky ReLU, as in both papers on GAT
_Maps = Mapping[str, Tensor]  # the linear maps of a layer's input by name; [R, n, d K] each


class PairAttentionModel(NodeModel):
    """Two layers of attention with several heads; a subclass says how an edge is scored.

        H      = ELU(attention of K heads over the maps of dropout(X))
        logits = mean over the K' output heads of attention over the maps of dropout(H)

    An edge weighs the exponential of its score. Sums over neighbours are divided by the sum of
    the weights, so every sum is left to the kernels, whose order is fixed on every device.
    """

    unexplained: ClassVar[str | None] = None
    maps: ClassVar[tuple[str, ...]]  # of a layer's input; what is summed is called "value"
    receiving: ClassVar[str]  # the map that a score reads of the receiver; it alone has a bias
    sending: ClassVar[str]  # the map that a score reads of the sender
    attends_to_itself: ClassVar[bool]  # else "skip" maps a node's own input

    def __init__(self, network: GATv2, shape: ModelShape) -> None:
        super().__init__(shape)
        self.heads = (network.heads, network.output_heads)
        sources, width = shape.generators(), network.hidden * network.heads

        def made(
            kind: type[FeatureLinear | Linear], size: int, d: int, count: int
        ) -> nn.ModuleDict:
            found = {
                name: kind(size, d, sources, has_bias=name == self.receiving, heads=count)
                for name in self.maps
            }
            if not self.attends_to_itself:
                own = width if size == shape.features and kind is FeatureLinear else shape.classes
                found["skip"] = kind(size, own, sources, has_bias=False)
            return nn.ModuleDict(found)

        self.first = made(FeatureLinear, shape.features, network.hidden, network.heads)
        self.last = made(Linear, width, shape.classes, network.output_heads)
        self.first_bias = nn.Parameter(torch.zeros(shape.replicas, width))
        self.last_bias = nn.Parameter(torch.zeros(shape.replicas, shape.classes))
        self.add_scores(network.hidden, shape.classes, sources)

    def add_scores(self, hidden: int, classes: int, sources: Sequence[Generator]) -> None:
        """Add what `score` has to learn besides the maps; nothing by default."""

    @abstractmethod
    def score(self, layer: int, receiver: Tensor, sender: Tensor) -> Tensor:
        """The scores [R, m', K] from what is read of both ends of the edges [R, m', d, K]."""

    def logits(self, view: View, drop: Dropout | None) -> Tensor:
        """Attention and ELU, attention and the mean over the output heads."""
        targets, middle, _ = view.field.sizes
        hidden = self._attended(view, 0, self._first_maps(view, drop), middle, drop)
        hidden = scale_held(hidden, functional.elu(hidden))
        maps = self._last_maps(view, hidden, drop)
        return self._attended(view, 1, maps, targets, drop)

    @torch.no_grad()
    def attentions(self, view: View) -> list[Attention]:
        """Return P of both layers per head, without dropout, for the rows they compute."""
        targets, middle, _ = view.field.sizes
        maps = self._first_maps(view, None)
        hidden = functional.elu(self._attended(view, 0, maps, middle, None))
        later = self._last_maps(view, hidden, None)
        return [self._attention(view, 0, maps, middle), self._attention(view, 1, later, targets)]

    def propagation(self, view: View) -> Paths:
        """The attention of both layers, the mean over their heads."""
        return self._paths(self.attentions(view))

    def _first_maps(self, view: View, drop: Dropout | None) -> _Maps:
        place = at(drop, INPUT)  # one draw for all maps
        return {k: each(view.features, place, self.backend) for k, each in self.first.items()}

    def _last_maps(self, view: View, h: Tensor, drop: Dropout | None) -> _Maps:
        place, rows = at(drop, OUTPUT), view.field.nodes[: h.shape[1]]
        return {k: each(h, rows, place, self.backend) for k, each in self.last.items()}

    def _attended(
        self, view: View, layer: int, maps: _Maps, rows: int, drop: Dropout | None
    ) -> Tensor:
        """A layer's output: heads side by side in the first layer, their mean in the last."""
        graph, field, place = view.field.graph, view.field, INSIDE + 2 * layer
        edges, loops, totals = self._weights(view, layer, maps, rows)
        # Draws belong to an edge's or node's index in the full graph.
        labels = field.edge_ids[: edges.shape[1]]
        edges = dropout(edges, labels, at(drop, place), backend=self.backend)
        loops = dropout(loops, field.nodes[:rows], at(drop, place + 1), backend=self.backend)
        sums = weighted_sum(graph, maps["value"], edges, loops, backend=self.backend)
        means = heads_of(sums, self.heads[layer]) / totals
        if layer == 0:
            out = means.flatten(2) + self.first_bias[:, None]
        else:
            out = means.mean(-1) + self.last_bias[:, None]
        return out if self.attends_to_itself else out + maps["skip"][:, :rows]

    def _weights(
        self, view: View, layer: int, maps: _Maps, rows: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The weights of edges [R, m', K] and loops, and their totals [R, rows, 1, K]."""
        graph, heads, near = view.field.graph, self.heads[layer], Neighbourhoods.of(view, rows)
        count = None if self.attends_to_itself else near.edges
        i, j = near.receivers[:count], near.senders[:count]
        ends = (heads_of(maps[name], heads) for name in (self.receiving, self.sending))
        pairs = zip(ends, (i, j), strict=True)
        score = self.score(layer, *(at_nodes(end, each) for end, each in pairs))
        lowest = score.new_full((self.replicas, rows, heads), -math.inf)
        index = i[None, :, None].expand_as(score)
        highest = lowest.scatter_reduce(1, index, score.detach(), "amax")
        weights = torch.exp(score - highest[:, i])
        if self.attends_to_itself:
            edges, loops = near.parts(weights)
        else:
            edges, loops = weights, weights.new_zeros(self.replicas, rows, heads)
        given = graph.weights_as(edges.dtype)
        if given is not None:  # log w is added to the score of an edge, as in AGNN
            edges = edges * given[: near.edges, None]
        ones = edges.new_ones(self.replicas, maps["value"].shape[1], heads)
        totals = weighted_sum(graph, ones, edges, loops, backend=self.backend)
        # Only a node without neighbours that does not attend to itself has a total of 0.
        return edges, loops, torch.where(totals == 0, 1.0, totals)[:, :, None]

    def _attention(self, view: View, layer: int, maps: _Maps, rows: int) -> Attention:
        """P of one layer by head."""
        edges, loops, totals = self._weights(view, layer, maps, rows)
        total = totals.squeeze(2)
        receivers = view.field.graph.receivers[: edges.shape[1]]
        return Attention(edges / total[:, receivers], loops / total)

    def _paths(self, by_head: Sequence[Attention]) -> Paths:
        hops = tuple(Hop(Attention(p.edges.mean(-1), p.loops.mean(-1))) for p in by_head)
        note = (
            f"The attention shown is the mean over the heads: {self.heads[0]} in the first layer, "
            f"{self.heads[1]} in the second. What a node adds is computed head by head, with the "
            f"attention and the slope of each unit held."
        )
        notes = (note,) if self.attends_to_itself else (note, _SKIP)
        return Paths(hops, last_hop(2), is_attention=self.attends_to_itself, notes=notes)


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

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        widths = self.state_width + classes * self.output_heads
        heads = self.heads + self.output_heads
        # What a score reads of both ends is kept for every edge and every number of a state.
        return Footprint(per_node=16 * widths + 16 * heads, per_edge=6 * widths + 12 * heads)


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
