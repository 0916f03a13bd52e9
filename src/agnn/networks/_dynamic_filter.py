"""Dynamic filters: each neighbour is assigned softly to several weight matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn

from agnn.graph import View
from agnn.kernels import (
    Attention,
    Dropout,
    Link,
    ReLU,
    TorchLink,
    dense_linear,
    feature_linear,
    heads_of,
    weighted_sum,
)
from agnn.networks._layers import FeatureLinear, Linear, normal
from agnn.networks._model import INPUT, OUTPUT, ModelShape, NodeModel, at
from agnn.networks._neighbourhoods import Neighbourhoods, at_nodes, sizes
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, register
from agnn.training import Selection, WindowStop

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

    def __init__(self, network: DynamicFilter, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
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

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The two layers; filters and assignments see the same dropped inputs."""
        targets, middle, _ = view.field.sizes
        nodes = view.field.nodes[:middle]
        backend = self.backend

        def first_maps(_: Tensor) -> tuple[Tensor, Tensor]:
            drop = at(dropout, INPUT)
            weight = self.first_assignment.weight
            states = self.first(view.features, drop, backend)
            return states, feature_linear(view.sparse_features, weight, drop=drop, backend=backend)

        def last_maps(h: Tensor) -> tuple[Tensor, Tensor]:
            drop = at(dropout, OUTPUT)
            weight = self.last_assignment.weight
            states = self.last(h, nodes, drop, backend)
            return states, dense_linear(h, weight, None, nodes, drop=drop, backend=backend)

        first_assignment = self.first_assignment
        last = self.last_assignment
        return [
            _DynamicLayer(view, middle, first_maps, first_assignment, self.first_bias, backend),
            ReLU(),
            _DynamicLayer(view, targets, last_maps, last, self.last_bias, backend),
        ]


class _DynamicLayer(TorchLink):
    """One layer, given the filters' states [R, n, d M] and the scores [R, n, M] of its input."""

    is_over_edges: ClassVar[bool] = True
    note: str | None = (
        "Dynamic filters share every neighbour out among weight matrices; over all of them each "
        "neighbour has the same weight, which says nothing about what was important."
    )

    def __init__(
        self,
        view: View,
        rows: int,
        maps: Callable[[Tensor], tuple[Tensor, Tensor]],
        assignment: Assignment,
        bias: Tensor,
        backend: str,
    ) -> None:
        self.view = view
        self.rows = rows
        self.maps = maps
        self.assignment = assignment
        self.bias = bias
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        """The new states; [R, rows, d]."""
        states, scores = self.maps(x)
        edges, loops = self._shares(scores)
        sums = weighted_sum(self.view.field.graph, states, edges, loops, backend=self.backend)
        return heads_of(sums, loops.shape[-1]).sum(-1) + self.bias[:, None]

    def weights(self, x: Tensor) -> list[Attention]:
        """The filters' shares, added up."""
        edges, loops = self._shares(self.maps(x)[1])
        return [Attention(edges.sum(-1), loops.sum(-1))]

    def _shares(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        near = Neighbourhoods.of(self.view, self.rows)
        edges, loops = self.assignment(self.view, near, scores)
        return edges, loops


@register
@dataclass(frozen=True)
class DynamicFilter(HiddenNetwork):
    """Two layers that assign each neighbour softly to several filters."""

    name: ClassVar[str] = "dynamic_filter"
    title: ClassVar[str] = "DynamicFilter"
    cites: ClassVar[str] = "Verma, Boyer and Verbeek 2017"
    model: ClassVar[type[NodeModel]] = DynamicFilterModel
    rule: ClassVar[type[Selection]] = WindowStop
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "first_assignment.*")
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"filters": (1, 2, 4, 8)}

    filters: Count = 2  # of a layer
    window: Count = 10  # training stops at a watched loss above the mean of this many epochs
