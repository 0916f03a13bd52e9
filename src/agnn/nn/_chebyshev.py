"""ChebNet: two layers of polynomial filters of the graph's Laplacian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from agnn.graph import View
from agnn.kernels import Attention, Dropout, heads_of, propagate
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._linear_form import SUM_OVER_PATHS, Hop, LinearForm, Paths, Units, fixed_note, last_hop
from agnn.nn._node_model import INPUT, OUTPUT, NodeModel, at, rows_by_layer


class ChebNet(NodeModel):
    """Two layers of Chebyshev filters (Defferrard et al. 2016), as Kipf and Welling train them.

        H      = ReLU(sum over k = 0..K of T_k(L) dropout(X) W_k)
        logits = sum over k = 0..K of T_k(L) dropout(H) W'_k

    T_k is the Chebyshev polynomial of degree k and L = -D^-1/2 A D^-1/2, the Laplacian scaled to
    [-1, 1] by 2, the bound of its eigenvalues.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 16,
        order: int = 2,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 2 * order, backend)
        sources = generators(seeds)
        self.order = order
        terms = order + 1
        self.first = FeatureLinear(features, hidden, sources, has_bias=False, heads=terms)
        self.last = Linear(hidden, classes, sources, has_bias=False, heads=terms)

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

    @torch.no_grad()
    def linear_form(self, view: View) -> LinearForm:
        """Each step of the recurrence is a layer with two heads: the node itself and L."""
        states = self.first(view.features, None, self.backend)
        steps = [self._step(k, states) for k in reversed(range(self.order))]
        gate, heads = self._filtered(view, states, 0) > 0, self._heads(view)
        units = []
        for t, step in enumerate(steps):
            is_end = t == len(steps) - 1
            units.append(
                Units(step, gate=gate if is_end else None, heads=heads[t], sums_heads=True)
            )
        for t, step in enumerate(
            self._step(k, self.last.weight) for k in reversed(range(self.order))
        ):
            weight = self.last.weight @ step if t == 0 else step
            units.append(Units(weight, heads=heads[self.order + t], sums_heads=True))
        return LinearForm(
            paths=self.propagation(view),
            units=tuple(units),
            states=states,
            first_weight=self.first.weight,
        )

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

    def _step(self, k: int, like: Tensor) -> Tensor:
        """The step to b_k as the weight of a layer with two heads: [R, d (K+1), d' (K+1) 2].

        The columns of term k are replaced; those that later steps read stay. The step to b_0
        leaves its own columns alone.
        """
        terms = self.order + 1
        own, sent = torch.zeros(2, terms, terms, dtype=like.dtype, device=like.device)
        own[: k + 2, : k + 2] = torch.eye(k + 2).to(own)
        if k + 2 < terms:
            own[k + 2, k] = -1.0
        sent[k + 1, k] = -2.0 if k else -1.0
        if k == 0:
            own, sent = own[:, :1], sent[:, :1]
        unit = torch.eye(like.shape[-1] // terms).to(own)
        both = torch.stack([torch.kron(unit, own), torch.kron(unit, sent)], -1).flatten(1)
        return both.expand(self.replicas, -1, -1)

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
