"""Dynamic filters: neighbours are shared out softly among several weight matrices."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from agnn.graph import View
from agnn.kernels import Dropout, dense_linear, heads_of, sparse_linear, weighted_sum
from agnn.nn.initialisation import generators, normal
from agnn.nn.layers import Linear, SparseLinear
from agnn.nn.neighbourhoods import Neighbourhoods, sizes
from agnn.nn.node_model import INPUT, OUTPUT, NodeModel, at

_DEVIATION = 0.1  # of everything at the start in the authors' program


class Assignment(nn.Module):
    """q_m(i, j) / (|N(i)| + 1), q = softmax over m of u_m . x_i - u_m . x_j + c_m.

    Shapes: weight [R, d, M], bias [R, M]. The same for all translations of the states.
    """

    def __init__(self, width: int, filters: int, sources: Sequence[Generator]) -> None:
        super().__init__()
        self.weight = nn.Parameter(normal(sources, width, filters, deviation=_DEVIATION))
        self.bias = nn.Parameter(normal(sources, filters, deviation=_DEVIATION))

    def forward(self, view: View, near: Neighbourhoods, scores: Tensor) -> tuple[Tensor, Tensor]:
        """The weights of edges and of nodes for scores x U [R, n, M]."""
        gap = scores[:, near.receivers] - scores[:, near.senders] + self.bias[:, None]
        share = gap.softmax(-1) / sizes(view)[near.receivers, None].to(gap.dtype)
        return near.parts(share)


class DynamicFilter(NodeModel):
    """Two layers of dynamic filters (Verma, Boyer and Verbeek; later FeaStNet).

    out_i = b + sum over m, and over j in N(i) and i, of q_m(i, j) / (|N(i)| + 1) W_m x_j
    """

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 16,
        filters: int = 2,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 2, backend)
        sources = generators(seeds)
        self.filters = filters
        self.first = SparseLinear(features, hidden, sources, has_bias=False, heads=filters)
        self.first_assignment = Assignment(features, filters, sources)
        self.first_bias = nn.Parameter(torch.zeros(len(seeds), hidden))
        self.last = Linear(hidden, classes, sources, has_bias=False, heads=filters)
        self.last_assignment = Assignment(hidden, filters, sources)
        self.last_bias = nn.Parameter(torch.zeros(len(seeds), classes))

    def logits(self, view: View, dropout: Dropout | None) -> Tensor:
        """The two layers; what is dropped is dropped for the filters and for their choice alike."""
        targets, middle, _ = view.field.sizes
        backend, drop = self.backend, at(dropout, INPUT)
        h = self.first(view.features, drop, backend)
        scores = sparse_linear(
            view.sparse_features, self.first_assignment.weight, drop=drop, backend=backend
        )
        h = self._filtered(view, middle, h, self.first_assignment, scores, self.first_bias)
        h, nodes, drop = torch.relu(h), view.field.nodes[:middle], at(dropout, OUTPUT)
        scores = dense_linear(
            h, self.last_assignment.weight, None, nodes, drop=drop, backend=backend
        )
        h = self.last(h, nodes, drop, backend)
        return self._filtered(view, targets, h, self.last_assignment, scores, self.last_bias)

    def _filtered(
        self, view: View, rows: int, h: Tensor, choice: Assignment, scores: Tensor, bias: Tensor
    ) -> Tensor:
        edges, loops = choice(view, Neighbourhoods.of(view, rows), scores)
        out = weighted_sum(view.field.graph, h, edges, loops, backend=self.backend)
        return heads_of(out, self.filters).sum(-1) + bias[:, None]
