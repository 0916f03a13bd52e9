"""MoNet: mixtures of Gaussians over pseudo-coordinates of the edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import View
from agnn.kernels import Attention, Dropout, heads_of, weighted_sum
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
    glorot_uniform,
    rows_by_layer,
    sizes,
    two_summed_layers,
)
from agnn.training import Footprint, Selection, WindowStop


class GaussianMixture(nn.Module):
    """Unnormalised weights of K Gaussian kernels per edge.

        u_ij = (|N(i)+i|^-1/2, |N(j)+j|^-1/2),  v = tanh(T u + t)
        w_k  = exp(-1/2 sum over dimensions of ((v - mu_k) / sigma_k)^2)

    Shapes: T [R, 2, r], t [R, r], mu and sigma [R, r, K].
    """

    def __init__(self, kernels: int, dimensions: int, sources: Sequence[torch.Generator]) -> None:
        super().__init__()
        replicas = len(sources)
        self.turn = nn.Parameter(glorot_uniform(sources, 2, dimensions))
        self.shift = nn.Parameter(torch.zeros(replicas, dimensions))
        grid = torch.linspace(-1, 1, kernels + 2)[1:-1]  # evenly inside (-1, 1)
        self.centre = nn.Parameter(grid.expand(replicas, dimensions, kernels).clone())
        self.width = nn.Parameter(torch.ones(replicas, dimensions, kernels))

    def forward(self, view: View, near: Neighbourhoods) -> Tensor:
        """Weights [R, m' + rows, K]."""
        scale = sizes(view).to(self.turn.dtype).rsqrt()
        u = torch.stack([scale[near.receivers], scale[near.senders]], dim=-1)  # [m' + rows, 2]
        v = torch.tanh((u[..., None] * self.turn[:, None]).sum(2) + self.shift[:, None])
        distance = (v[..., None] - self.centre[:, None]) / self.width[:, None]  # [R, ., r, K]
        return torch.exp(-0.5 * distance.square().sum(2))


class MoNetModel(NodeModel):
    """Mixture model network of two layers (Monti et al. 2017), both with the same kernels.

        H      = ReLU(sum over k of w_k dropout(X) G_k)
        logits = sum over k of w_k dropout(H) G'_k

    with the weights of each kernel divided by their sum over a neighbourhood.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(self, network: MoNet, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.kernels = network.kernels
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=False, heads=network.kernels
        )
        self.last = Linear(
            network.hidden, shape.classes, sources, has_bias=False, heads=network.kernels
        )
        self.mixture = GaussianMixture(network.kernels, network.dimensions, sources)

    def logits(self, view: View, dropout: Dropout | None) -> Tensor:
        """The two layers, each a weighted sum by kernel and a sum over kernels."""
        graph, (targets, middle, _) = view.field.graph, view.field.sizes
        edges, loops, totals = self._weights(view, middle)
        h = self.first(view.features, at(dropout, INPUT), self.backend)
        h = self._mixed(weighted_sum(graph, h, edges, loops, backend=self.backend), totals)
        h = self.last(torch.relu(h), view.field.nodes[:middle], at(dropout, OUTPUT), self.backend)
        count = graph.edges_of(targets)
        found = weighted_sum(graph, h, edges[:, :count], loops[:, :targets], backend=self.backend)
        return self._mixed(found, totals[:, :targets])

    def propagation(self, view: View) -> Paths:
        """The kernels' weights of both layers, added up."""
        return two_summed_layers(
            self._heads(view),
            (
                "MoNet's weights are learned functions of the degrees of the two ends, the same "
                "in both layers, and do not depend on what the nodes hold.",
                SUM_OVER_PATHS,
            ),
        )

    def _weights(self, view: View, rows: int) -> tuple[Tensor, Tensor, Tensor]:
        """Every kernel's weights of edges and loops, and their totals [R, rows, 1, K]."""
        graph, near = view.field.graph, Neighbourhoods.of(view, rows)
        edges, loops = near.parts(self.mixture(view, near))
        # Weighted sums over ones are the totals. Dividing sums instead of weights leaves every
        # sum over neighbours to the kernels, whose order is fixed on every device.
        ones = edges.new_ones(self.replicas, graph.nodes, self.kernels)
        totals = weighted_sum(graph, ones, edges, loops, backend=self.backend)[:, :, None]
        return edges, loops, totals

    @torch.no_grad()
    def _heads(self, view: View) -> list[Attention]:
        """Every layer's weights by kernel, divided by their totals."""
        graph, found = view.field.graph, []
        for rows in rows_by_layer(view):
            edges, loops, totals = self._weights(view, rows)
            total = totals.squeeze(2)
            receivers = graph.receivers[: graph.edges_of(rows)]
            found.append(Attention(edges / total[:, receivers], loops / total))
        return found

    def _mixed(self, sums: Tensor, totals: Tensor) -> Tensor:
        """Return the sum of the kernels' means; [R, rows, d]."""
        return (heads_of(sums, self.kernels) / totals).sum(-1)


@register
@dataclass(frozen=True)
class MoNet(HiddenNetwork):
    """Two layers that weight neighbours by Gaussian kernels of their degrees."""

    name: ClassVar[str] = "monet"
    title: ClassVar[str] = "MoNet"
    cites: ClassVar[str] = "Monti, Boscaini, Masci et al. 2017"
    model: ClassVar[type[NodeModel]] = MoNetModel
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"kernels": (1, 2, 4)}

    kernels: int = 2  # of a layer
    dimensions: int = 2  # of the coordinates of an edge
    window: int = 10  # training stops at a watched loss above the mean of this many epochs

    @property
    def state_width(self) -> int:
        """That of all kernels."""
        return self.hidden * self.kernels

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(
            per_node=8 * self.state_width + 8 * self.kernels * (classes + 2),
            per_edge=12 * (2 + self.dimensions * (self.kernels + 1) + self.kernels),
        )

    def selection(self) -> Selection:
        """Stop when the watched loss rises."""
        return WindowStop(self.window, self.watched)
