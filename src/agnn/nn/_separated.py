"""Networks that keep a node's own state apart from its neighbours': the separated block, GraphSAGE.

Averaging a node with its neighbours erases what tells it apart from them. Where edges join nodes
of different classes that is the signal, so these models give both to a linear map, side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from agnn.graph import View
from agnn.kernels import Attention, Dropout, dropout, propagate, scale_held
from agnn.nn._initialisation import generators
from agnn.nn._layers import Beta, CosineAttention, FeatureLinear, Linear
from agnn.nn._node_model import INPUT, INSIDE, OUTPUT, NodeModel, at, rows_by_layer
from agnn.nn._paths import SUM_OVER_PATHS, Hop, Paths, last_hop

Weights = Literal["attention", "symmetric"]
Normalisation = Literal["layer", "none"]


class _Block(nn.Module):
    """GELU([Z, M] W + b) W' + b' for own states Z and neighbourhood means M."""

    def __init__(self, width: int, sources: Sequence[torch.Generator]) -> None:
        super().__init__()
        # [Z, M] W is Z W_own + M W_mean: nothing has to be copied side by side. Each half starts
        # as Glorot's for its own shape.
        self.own = Linear(width, width, sources, has_bias=True)
        self.mean = Linear(width, width, sources, has_bias=False)
        self.outer = Linear(width, width, sources, has_bias=True)


class Separated(NodeModel):
    """A deep network of separated blocks, after Platonov et al. 2023.

        H(0)   = dropout(GELU(dropout(X) W0 + b0))
        Z      = norm(H(t)),  M = P(t) Z
        H(t+1) = H(t) + dropout(dropout(GELU([Z, M] W + b)) W' + b')
        logits = norm(H(l)) W1 + b1

    P(t) is the attention of AGNN or the fixed weights of GCN; norm scales every node's state to
    mean 0 and variance 1, or is left out.
    """

    unexplained: ClassVar[str | None] = (
        "its blocks add a normalised transformation of each state to the state itself, so a path "
        "has no single weight"
    )

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 64,
        layers: int = 5,
        weights: Weights = "symmetric",
        normalisation: Normalisation = "layer",
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), layers, backend)
        sources = generators(seeds)
        self.normalisation = normalisation
        self.first = FeatureLinear(features, hidden, sources, has_bias=True)
        self.blocks = nn.ModuleList(_Block(hidden, sources) for _ in range(layers))
        self.attention = nn.ModuleList(
            CosineAttention(Beta(), len(seeds))
            for _ in range(layers if weights == "attention" else 0)
        )
        self.last = Linear(hidden, classes, sources, has_bias=True)

    @property
    def betas(self) -> Tensor | None:
        """Every attention layer's scalar, [R, l]; None with fixed weights."""
        if not self.attention:
            return None
        return torch.stack([self._attention(t).beta.detach() for t in range(self.hops)], dim=1)

    def logits(self, view: View, drop: Dropout | None) -> Tensor:
        """Logits [R, targets, c]."""
        nodes, backend = view.field.nodes, self.backend

        def dropped(h: Tensor, place: int) -> Tensor:
            return dropout(h, nodes[: h.shape[1]], at(drop, place), backend=backend)

        h = functional.gelu(self.first(view.features, at(drop, INPUT), backend))
        h = dropped(h, INSIDE)
        for t, rows in enumerate(rows_by_layer(view)):
            block, place = self._block(t), INSIDE + 1 + 2 * t
            z = self._normalised(h)
            own = block.own(z[:, :rows].contiguous(), nodes[:rows], None, backend)
            mixed = own + block.mean(self._mean(view, t, z, rows), nodes[:rows], None, backend)
            change = block.outer(functional.gelu(mixed), nodes[:rows], at(drop, place), backend)
            h = h[:, :rows] + dropped(change, place + 1)
        logits: Tensor = self.last(self._normalised(h), view.field.targets, None, backend)
        return logits

    # A ModuleList forgets its types.
    def _block(self, layer: int) -> _Block:
        return cast(_Block, self.blocks[layer])

    def _attention(self, layer: int) -> CosineAttention:
        return cast(CosineAttention, self.attention[layer])

    def _normalised(self, h: Tensor) -> Tensor:
        return functional.layer_norm(h, h.shape[-1:]) if self.normalisation == "layer" else h

    def _mean(self, view: View, layer: int, z: Tensor, rows: int) -> Tensor:
        """P(t) Z at the first `rows` nodes."""
        if self.attention:
            attend = self._attention(layer)
            return attend.forward(view.field.graph, z, rows, self.backend)
        return propagate(view.symmetric_propagation, z, rows=rows, backend=self.backend)


class GraphSAGE(NodeModel):
    """GraphSAGE with the mean over all neighbours (Hamilton, Ying and Leskovec 2017).

        H(0)     = X
        H(t+1)_i = norm(ReLU(dropout(H(t))_i W_own + mean over j in N(i) of dropout(H(t))_j W_mean))
        logits   = dropout(H(l)) W1 + b1

    norm scales a row to length 1. Their program draws a few neighbours per node; here the mean is
    over all of them.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 128,
        layers: int = 2,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), layers, backend)
        sources = generators(seeds)
        self.first_own = FeatureLinear(features, hidden, sources, has_bias=False)
        self.first_mean = FeatureLinear(features, hidden, sources, has_bias=False)
        self.own = nn.ModuleList(
            Linear(hidden, hidden, sources, has_bias=False) for _ in range(layers - 1)
        )
        self.mean = nn.ModuleList(
            Linear(hidden, hidden, sources, has_bias=False) for _ in range(layers - 1)
        )
        self.last = Linear(hidden, classes, sources, has_bias=True)

    def logits(self, view: View, drop: Dropout | None) -> Tensor:
        """Logits [R, targets, c]."""
        nodes, backend = view.field.nodes, self.backend
        # The mean of mapped states is the mapped mean, so the narrower of the two travels.
        own = self.first_own(view.features, at(drop, INPUT), backend)
        sent = self.first_mean(view.features, at(drop, INPUT), backend)
        h = own
        for t, rows in enumerate(rows_by_layer(view)):
            if t > 0:
                place, read = at(drop, INSIDE + t), nodes[: h.shape[1]]
                own = self.own[t - 1](h, read, place, backend)
                sent = self.mean[t - 1](h, read, place, backend)
            mean = propagate(view.mean_propagation, sent, rows=rows, backend=backend)
            mixed = own[:, :rows] + mean
            h = scale_held(mixed, functional.normalize(functional.relu(mixed), dim=2))
        logits: Tensor = self.last(h, view.field.targets, at(drop, OUTPUT), backend)
        return logits

    def propagation(self, view: View) -> Paths:
        """The node itself and the mean over its neighbours, in every layer."""
        hops = tuple(Hop(Attention(*(part.sum(-1) for part in p))) for p in self._heads(view))
        notes = (
            "GraphSAGE learns no attention: the neighbours of a node count alike, which says "
            "nothing about what it found important.",
            SUM_OVER_PATHS,
        )
        return Paths(hops, last_hop(self.hops), is_attention=False, notes=notes)

    def _heads(self, view: View) -> list[Attention]:
        """By layer: head 0 reads the node itself, head 1 the mean over its neighbours."""
        graph, weights = view.field.graph, view.mean_propagation

        def heads(own: Tensor, sent: Tensor) -> Tensor:
            return torch.stack([own, sent], -1).expand(self.replicas, -1, 2)

        found = []
        for rows in rows_by_layer(view):
            edges, loops = weights.edge_weights[: graph.edges_of(rows)], weights.loop_weights[:rows]
            own, none = torch.ones_like(loops), torch.zeros_like(edges)
            found.append(Attention(heads(none, edges), heads(own, loops)))
        return found
