"""MoNet: mixtures of Gaussians over pseudo-coordinates of the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import View
from agnn.kernels import Attention, Dropout, heads_of, weighted_sum
from agnn.nn._initialisation import generators, glorot_uniform
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._neighbourhoods import Neighbourhoods, sizes
from agnn.nn._node_model import INPUT, OUTPUT, NodeModel, at, rows_by_layer
from agnn.nn._paths import SUM_OVER_PATHS, Paths, two_summed_layers


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


class MoNet(NodeModel):
    """Mixture model network of two layers (Monti et al. 2017), both with the same kernels.

        H      = ReLU(sum over k of w_k dropout(X) G_k)
        logits = sum over k of w_k dropout(H) G'_k

    with the weights of each kernel divided by their sum over a neighbourhood.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 16,
        kernels: int = 2,
        dimensions: int = 2,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 2, backend)
        sources = generators(seeds)
        self.kernels = kernels
        self.first = FeatureLinear(features, hidden, sources, has_bias=False, heads=kernels)
        self.last = Linear(hidden, classes, sources, has_bias=False, heads=kernels)
        self.mixture = GaussianMixture(kernels, dimensions, sources)

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
