"""ChebNet: two layers of polynomial filters of the graph's Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import View
from agnn.kernels import Attention, Dropout, heads_of, propagate
from agnn.networks._gcn import GCN
from agnn.networks._protocol import register
from agnn.nn import (
    INPUT,
    OUTPUT,
    SUM_OVER_PATHS,
    FeatureLinear,
    Hop,
    Linear,
    ModelShape,
    NodeModel,
    Paths,
    at,
    fixed_note,
    last_hop,
    rows_by_layer,
)
from agnn.training import Footprint


class ChebNetModel(NodeModel):
    """Two layers of Chebyshev filters (Defferrard et al. 2016), as Kipf and Welling train them.

        H      = ReLU(sum over k = 0..K of T_k(L) dropout(X) W_k)
        logits = sum over k = 0..K of T_k(L) dropout(H) W'_k

    T_k is the Chebyshev polynomial of degree k and L = -D^-1/2 A D^-1/2, the Laplacian scaled to
    [-1, 1] by 2, the bound of its eigenvalues.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(self, network: ChebNet, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.order = network.order
        terms = network.order + 1
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=False, heads=terms
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=False, heads=terms)

    def logits(self, view: View, dropout: Dropout | None) -> Tensor:
        """The two filters with a ReLU between them."""
        h = self.first(view.features, at(dropout, INPUT), self.backend)
        h = torch.relu(self._filtered(view, h, 0))
        rows = view.field.nodes[: h.shape[1]]
        h = self.last(h, rows, at(dropout, OUTPUT), self.backend)
        return self._filtered(view, h, 1)

    def propagation(self, view: View) -> Paths:
        """The normalised adjacency in every step, and the node itself."""
        hops = tuple(Hop(Attention(*(part.sum(-1) for part in p))) for p in self._heads(view))
        notes = (fixed_note("ChebNet"), SUM_OVER_PATHS)
        return Paths(hops, last_hop(self.hops), is_attention=False, notes=notes)

    def _filtered(self, view: View, h: Tensor, layer: int) -> Tensor:
        """Sum over k of T_k(L) h_k, by Clenshaw's recurrence; [R, rows, d].

            b_k = h_k + 2 L b_{k+1} - b_{k+2},  result = h_0 + L b_1 - b_2

        so K propagations of width d do, and no power of L is formed.
        """
        terms = [each.contiguous() for each in heads_of(h, self.order + 1).unbind(-1)]
        later, last = terms[-1], None
        sizes = rows_by_layer(view)[layer * self.order :]
        for k, rows in zip(reversed(range(self.order)), sizes, strict=False):
            sent = propagate(view.adjacency_propagation, later, rows=rows, backend=self.backend)
            found = terms[k][:, :rows] - (2.0 if k else 1.0) * sent  # L is minus the adjacency
            if last is not None:
                found = found - last[:, :rows]
            later, last = found, later
        return later

    def _heads(self, view: View) -> list[Attention]:
        """By step: head 0 reads the node itself, head 1 its neighbours."""
        graph, weights, found = view.field.graph, view.adjacency_propagation, []
        for rows in rows_by_layer(view):
            edges, loops = weights.edge_weights[: graph.edges_of(rows)], weights.loop_weights[:rows]
            parts = (torch.zeros_like(edges), edges), (torch.ones_like(loops), loops)
            found.append(
                Attention(*(torch.stack(p, -1).expand(self.replicas, -1, 2) for p in parts))
            )
        return found


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

    order: int = 2  # K: the degree of the polynomials

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order < 1:
            raise InputError(f"`order` must be at least 1; got {self.order}.")

    @property
    def propagation_steps(self) -> int:
        """One per degree and layer."""
        return 2 * self.order

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        terms = self.order + 1
        return Footprint(per_node=4 * terms * (self.hidden + classes) + 8 * classes)
