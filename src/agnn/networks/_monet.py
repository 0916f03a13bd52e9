"""MoNet: mixtures of Gaussians over pseudo-coordinates of the edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import Graph, View
from agnn.kernels import Attention, Dropout, Link, ReLU, TorchLink, heads_of, weighted_sum
from agnn.networks._layers import FeatureLinear, Linear, glorot_uniform
from agnn.networks._model import INPUT, OUTPUT, ModelShape, NodeModel, at
from agnn.networks._neighbourhoods import Neighbourhoods, sizes
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, register
from agnn.training import Selection, WindowStop


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

    def __init__(self, network: MoNet, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=False, heads=network.kernels
        )
        self.last = Linear(
            network.hidden, shape.classes, sources, has_bias=False, heads=network.kernels
        )
        self.mixture = GaussianMixture(network.kernels, network.dimensions, sources)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The two layers, each a weighted sum by kernel and a sum over kernels."""
        graph = view.field.graph
        targets, middle, _ = view.field.sizes
        near = Neighbourhoods.of(view, middle)
        edges, loops = near.parts(self.mixture(view, near))
        # Weighted sums over ones are the totals. Dividing sums instead of weights leaves every
        # sum over neighbours to the kernels, whose order is fixed on every device.
        ones = edges.new_ones(self.replicas, graph.nodes, edges.shape[-1])
        totals = weighted_sum(graph, ones, edges, loops, backend=self.backend)[:, :, None]
        mixture = _MixtureSum(graph, edges, loops, totals, self.backend)
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            mixture,
            ReLU(),
            self.last.link(view.field.nodes[:middle], at(dropout, OUTPUT), self.backend),
            mixture.at_rows(targets),
        ]


class _MixtureSum(TorchLink):
    """The sum of the kernels' means; [R, n, d K] to [R, rows, d]."""

    is_over_edges: ClassVar[bool] = True
    note: str | None = (
        "MoNet's weights are learned functions of the degrees of the two ends, the same in both "
        "layers, and do not depend on what the nodes hold."
    )

    def __init__(
        self, graph: Graph, edges: Tensor, loops: Tensor, totals: Tensor, backend: str
    ) -> None:
        self.graph = graph
        self.edges = edges  # [R, m', K], not normalised
        self.loops = loops  # [R, rows, K]
        self.totals = totals  # [R, rows, 1, K]
        self.backend = backend

    def at_rows(self, rows: int) -> _MixtureSum:
        """Return the same sums at fewer rows."""
        edges = self.edges[:, : self.graph.edges_of(rows)]
        loops = self.loops[:, :rows]
        return _MixtureSum(self.graph, edges, loops, self.totals[:, :rows], self.backend)

    def forward(self, x: Tensor) -> Tensor:
        """The new states."""
        sums = weighted_sum(self.graph, x, self.edges, self.loops, backend=self.backend)
        return (heads_of(sums, self.loops.shape[-1]) / self.totals).sum(-1)

    def weights(self, x: Tensor) -> list[Attention]:
        """Every kernel's weights, divided by their totals and added up."""
        total = self.totals.squeeze(2)
        receivers = self.graph.receivers[: self.edges.shape[1]]
        edges = self.edges / total[:, receivers]
        return [Attention(edges.sum(-1), (self.loops / total).sum(-1))]


@register
@dataclass(frozen=True)
class MoNet(HiddenNetwork):
    """Two layers that weight neighbours by Gaussian kernels of their degrees."""

    name: ClassVar[str] = "monet"
    title: ClassVar[str] = "MoNet"
    cites: ClassVar[str] = "Monti, Boscaini, Masci et al. 2017"
    model: ClassVar[type[NodeModel]] = MoNetModel
    rule: ClassVar[type[Selection]] = WindowStop
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"kernels": (1, 2, 4)}

    kernels: Count = 2  # of a layer
    dimensions: Count = 2  # of the coordinates of an edge
    window: Count = 10  # training stops at a watched loss above the mean of this many epochs
