"""ChebNet: two layers of polynomial filters of the graph's Laplacian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from agnn.graph import Propagation, View
from agnn.kernels import Attention, Dropout, Link, ReLU, TorchLink, heads_of, propagate
from agnn.networks._gcn import GCN
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, OUTPUT, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._protocol import Count, register


class ChebNetModel(NodeModel):
    """Two layers of Chebyshev filters (Defferrard et al. 2016), as Kipf and Welling train them.

        H      = ReLU(sum over k = 0..K of T_k(L) dropout(X) W_k)
        logits = sum over k = 0..K of T_k(L) dropout(H) W'_k

    T_k is the Chebyshev polynomial of degree k and L = -D^-1/2 A D^-1/2, the Laplacian scaled to
    [-1, 1] by 2, the bound of its eigenvalues.
    """

    def __init__(self, network: ChebNet, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.order = network.order
        terms = network.order + 1
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=False, heads=terms
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=False, heads=terms)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The two filters with a ReLU between them."""
        rows = rows_by_layer(view)
        middle = rows[self.order - 1]
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            _Filter(view.adjacency_propagation, rows[: self.order], self.backend),
            ReLU(),
            self.last.link(view.field.nodes[:middle], at(dropout, OUTPUT), self.backend),
            _Filter(view.adjacency_propagation, rows[self.order :], self.backend),
        ]


class _Filter(TorchLink):
    """Sum over k of T_k(L) h_k, by Clenshaw's recurrence; [R, n, d (K + 1)] to [R, rows, d].

        b_k = h_k + 2 L b_{k+1} - b_{k+2},  result = h_0 + L b_1 - b_2

    so K propagations of width d do, and no power of L is formed.
    """

    is_over_edges: ClassVar[bool] = True

    def __init__(self, adjacency: Propagation, rows: Sequence[int], backend: str) -> None:
        self.adjacency = adjacency
        self.rows = rows  # of every propagation
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        """The states after the last propagation."""
        terms = [term.contiguous() for term in heads_of(x, len(self.rows) + 1).unbind(-1)]
        later = terms.pop()
        last = None
        for rows in self.rows:
            term = terms.pop()
            sent = propagate(self.adjacency, later, rows=rows, backend=self.backend)
            mixed = term[:, :rows] - (2.0 if terms else 1.0) * sent  # L is minus the adjacency
            if last is not None:
                mixed = mixed - last[:, :rows]
            later, last = mixed, later
        return later

    def weights(self, x: Tensor) -> list[Attention]:
        """The normalised adjacency in every step, and the node itself."""
        weights = []
        for rows in self.rows:
            edges = self.adjacency.edge_weights[: self.adjacency.graph.edges_of(rows)]
            loops = 1.0 + self.adjacency.loop_weights[:rows]
            weights.append(Attention(edges.expand(len(x), -1), loops.expand(len(x), -1)))
        return weights


@register
@dataclass(frozen=True)
class ChebNet(GCN):
    """Two layers of polynomial filters of degree `order`, trained as Kipf and Welling train them.

    Their settings for it are those of GCN.
    """

    name: ClassVar[str] = "chebnet"
    title: ClassVar[str] = "ChebNet"
    cites: ClassVar[str] = "Defferrard, Bresson and Vandergheynst 2016"
    model: ClassVar[type[NodeModel]] = ChebNetModel

    order: Count = 2  # K: the degree of the polynomials

    @property
    def propagation_steps(self) -> int:
        """One per degree and layer."""
        return 2 * self.order
