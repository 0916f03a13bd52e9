"""Dynamic filters: each neighbour is assigned softly to several weight matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn

from agnn.graph import View
from agnn.kernels import Attention, Dropout, dense_linear, heads_of, sparse_linear, weighted_sum
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import register
from agnn.nn import (
    INPUT,
    OUTPUT,
    SUM_OVER_PATHS,
    FeatureLinear,
    Linear,
    ModelShape,
    Neighbourhoods,
    NodeModel,
    Paths,
    at,
    at_nodes,
    normal,
    sizes,
    two_summed_layers,
)
from agnn.training import Footprint, Selection, WindowStop

_DEVIATION = 0.1  # of all initial weights in the authors' code


class Assignment(nn.Module):
    """q_m(i, j) / (|N(i)| + 1), q = softmax over m of u_m . x_i - u_m . x_j + c_m.

    Shapes: weight [R, d, M], bias [R, M]. Invariant to translations of the states.
    """

    def __init__(self, width: int, filters: int, sources: Sequence[Generator]) -> None:
        super().__init__()
        self.weight = nn.Parameter(normal(sources, width, filters, deviation=_DEVIATION))
        self.bias = nn.Parameter(normal(sources, filters, deviation=_DEVIATION))

    def forward(self, view: View, near: Neighbourhoods, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights of edges and of self-loops for scores x U [R, n, M]."""
        gap = at_nodes(scores, near.receivers) - at_nodes(scores, near.senders)
        gap = gap + self.bias[:, None]
        share = gap.softmax(-1) / sizes(view)[near.receivers, None].to(gap.dtype)
        return near.parts(share)


class DynamicFilterModel(NodeModel):
    """Two layers of dynamic filters (Verma, Boyer and Verbeek; later FeaStNet).

    out_i = b + sum over m, and over j in N(i) and i, of q_m(i, j) / (|N(i)| + 1) W_m x_j
    """

    unexplained: ClassVar[str | None] = None

    def __init__(self, network: DynamicFilter, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.filters = network.filters
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=False, heads=network.filters
        )
        self.first_assignment = Assignment(shape.features, network.filters, sources)
        self.first_bias = nn.Parameter(torch.zeros(shape.replicas, network.hidden))
        self.last = Linear(
            network.hidden, shape.classes, sources, has_bias=False, heads=network.filters
        )
        self.last_assignment = Assignment(network.hidden, network.filters, sources)
        self.last_bias = nn.Parameter(torch.zeros(shape.replicas, shape.classes))

    def logits(self, view: View, dropout: Dropout | None) -> Tensor:
        """The two layers; filters and assignments see the same dropped inputs."""
        hidden, _ = self._first_layer(view, dropout)
        h, nodes = torch.relu(hidden), view.field.nodes[: view.field.sizes[1]]
        heads = self._last_heads(view, h, dropout)
        h = self.last(h, nodes, at(dropout, OUTPUT), self.backend)
        return self._filtered(view, h, heads, self.last_bias)

    @torch.no_grad()
    def propagation(self, view: View) -> Paths:
        """The filters' shares of both layers, added up."""
        hidden, near = self._first_layer(view, None)
        far = self._last_heads(view, torch.relu(hidden), None)
        notes = (
            "Dynamic filters share every neighbour out among weight matrices; over all of them "
            "each neighbour has the same weight, which says nothing about what was important.",
            SUM_OVER_PATHS,
        )
        return two_summed_layers([near, far], notes)

    def _first_layer(self, view: View, dropout: Dropout | None) -> tuple[Tensor, Attention]:
        """The first layer's output before ReLU, and its weights by filter."""
        drop, choice = at(dropout, INPUT), self.first_assignment
        states = self.first(view.features, drop, self.backend)
        scores = sparse_linear(view.sparse_features, choice.weight, drop=drop, backend=self.backend)
        heads = Attention(*choice(view, Neighbourhoods.of(view, view.field.sizes[1]), scores))
        return self._filtered(view, states, heads, self.first_bias), heads

    def _last_heads(self, view: View, h: Tensor, dropout: Dropout | None) -> Attention:
        choice, nodes = self.last_assignment, view.field.nodes[: view.field.sizes[1]]
        scores = dense_linear(
            h, choice.weight, None, nodes, drop=at(dropout, OUTPUT), backend=self.backend
        )
        return Attention(*choice(view, Neighbourhoods.of(view, view.field.sizes[0]), scores))

    def _filtered(self, view: View, h: Tensor, heads: Attention, bias: Tensor) -> Tensor:
        out = weighted_sum(view.field.graph, h, *heads, backend=self.backend)
        return heads_of(out, self.filters).sum(-1) + bias[:, None]


@register
@dataclass(frozen=True)
class DynamicFilter(HiddenNetwork):
    """Two layers that assign each neighbour softly to several filters."""

    name: ClassVar[str] = "dynamic_filter"
    title: ClassVar[str] = "DynamicFilter"
    cites: ClassVar[str] = "Verma, Boyer and Verbeek 2017"
    model: ClassVar[type[NodeModel]] = DynamicFilterModel
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "first_assignment.*")
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"filters": (1, 2, 4, 8)}

    filters: int = 2  # of a layer
    window: int = 10  # training stops at a watched loss above the mean of this many epochs

    @property
    def state_width(self) -> int:
        """That of all filters."""
        return self.hidden * self.filters

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(
            per_node=8 * self.state_width + 8 * self.filters * (classes + 2),
            per_edge=24 * self.filters,
        )

    def selection(self) -> Selection:
        """Stop when the watched loss rises."""
        return WindowStop(self.window, self.watched)
