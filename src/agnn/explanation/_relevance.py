"""Relevance: how far attention departs from treating all neighbours alike.

By edge (Eq. 9), by pair of classes (Eq. 8), and as a ranking: how often the most and the least
relevant edges join nodes of one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation._reach import layer_weights, model_paths
from agnn.graph import Graph
from agnn.kernels import Attention
from agnn.metrics import Summary
from agnn.runs import Run

# A layer whose relevances are all below this attends evenly (beta = 0): what order is left in
# them is rounding.
_EVEN: Final = 1e-5


def edge_relevance(graph: Graph, attention: Attention) -> Attention:
    """Return R(j -> i) = (P_ij - u_i) / u_i, Eq. (9) of the paper, with u_i = 1 / (|N(i)| + 1).

    Zero where a node attends evenly; the same shapes as the attention it is made from, which may
    be that of the first rows only.
    """
    degrees = graph.degrees[: attention.loops.shape[1]]
    receivers = graph.receivers[: attention.edges.shape[1]]
    return Attention(
        relevance(attention.edges, degrees[receivers]),
        relevance(attention.loops, degrees),
    )


def relevance(weights: Tensor, degrees: Tensor) -> Tensor:
    """Compute Eq. (9) from weights [R, k] and the degrees [k] of their receivers."""
    return weights * (degrees + 1).to(weights.dtype) - 1.0


def class_relevance(
    graph: Graph, attention: Attention, labels: NDArray[np.int64], classes: int
) -> Tensor:
    """Return Relevance(c2 -> c1), Eq. (8): the mean R(j -> i) over edges and self-loops; [c, c].

    Row c1 receives, column c2 sends. Replicas are averaged; nodes without a label are left out;
    a pair of classes that no edge joins is NaN.
    """
    relevance = edge_relevance(graph, attention)
    y = torch.tensor(labels)
    nodes = torch.arange(graph.nodes)
    receiver = y[torch.cat([graph.receivers, nodes])]
    sender = y[torch.cat([graph.senders, nodes])]
    value = torch.cat([relevance.edges.mean(0), relevance.loops.mean(0)]).double()
    labelled = (receiver >= 0) & (sender >= 0)
    pair = receiver[labelled] * classes + sender[labelled]
    total = torch.zeros(classes * classes, dtype=torch.float64).index_add(0, pair, value[labelled])
    count = torch.bincount(pair, minlength=classes * classes)
    return (total / count).view(classes, classes)


@dataclass(frozen=True, eq=False)
class LayerRanking:
    """The edges of one layer from the most to the least relevant, replica by replica.

    The shares are of edges whose two ends have the same class; None where the layer attends
    evenly in some replica, for there all edges are alike and no order is meant.
    """

    layer: int  # from 1
    count: int  # how many edges are looked at, at either end
    top: Summary | None  # the share among the most relevant, one value a replica
    bottom: Summary | None  # among the least relevant
    everywhere: float  # among all ranked edges
    ranked: int  # directed edges in the ranking
    left_out: int  # directed edges with an unlabelled end
    top_edges: NDArray[np.int64]  # [R, count, 2] receiver and sender, the most relevant first
    bottom_edges: NDArray[np.int64]  # [R, count, 2] the least relevant last


@dataclass(frozen=True, eq=False)
class Relevance:
    """Relevance in every layer of a model, from first to last.

    All labels are read, those of test nodes too: this looks back, it predicts nothing.
    """

    graph: Graph
    data: NodeData
    attention: Sequence[Attention]  # P(1) to P(l) at every node

    @classmethod
    def of(cls, run: Run) -> Relevance:
        """Return the relevance in a run; raises unless its weights are attention."""
        paths = model_paths(run.network, run.whole_view())
        if not paths.is_attention:
            raise InputError(
                f"relevance is defined for attention, which {run.network.title} does not learn."
            )
        return cls(run.graph, run.data, [hop.attention for hop in paths.hops])

    @classmethod
    def of_weights(cls, run: Run) -> Relevance:
        """Return the same of the weights of any model, such as GCN's fixed ones."""
        return cls(run.graph, run.data, layer_weights(run.network, run.whole_view()))

    @cached_property
    def labelled_edges(self) -> Tensor:
        """Where the directed edges stand whose ends both have a label; [k]."""
        is_known = torch.tensor(self.data.labels) >= 0
        return (is_known[self.graph.receivers] & is_known[self.graph.senders]).nonzero().squeeze(1)

    def by_edge(self) -> list[Tensor]:
        """Return R(j -> i), Eq. (9), of every layer; each [R, m]."""
        return [edge_relevance(self.graph, weights).edges for weights in self.attention]

    def by_class(self) -> list[Tensor]:
        """Return Relevance(c2 -> c1), Eq. (8), of every layer; each [c, c]."""
        return [self._table(weights) for weights in self.attention]

    def by_replica(self, layer: int) -> Tensor:
        """Return Relevance(c2 -> c1), Eq. (8), of one layer (from 1) in each replica; [R, c, c]."""
        if not 1 <= layer <= len(self.attention):
            raise InputError(f"`layer` must be from 1 to {len(self.attention)}; got {layer}.")
        edges, loops = self.attention[layer - 1]
        alone = [Attention(edges[r : r + 1], loops[r : r + 1]) for r in range(len(edges))]
        return torch.stack([self._table(weights) for weights in alone])

    def rankings(self, count: int = 100) -> list[LayerRanking]:
        """Return how often the `count` most and least relevant edges join equals, layer by layer.

        Every undirected edge is two: R(j -> i) and R(i -> j), Eq. (9), are ranked apart, without
        self-loops. Equal relevances stand in the order of their receivers, then senders. The
        paper's Table 6 is of the last layer.
        """
        labelled = self.labelled_edges
        if not 1 <= count <= labelled.numel():
            raise InputError(
                f"`count` must be between 1 and the {labelled.numel()} directed edges of "
                f"'{self.data.name}' whose ends both have a label; got {count}."
            )
        labels = torch.tensor(self.data.labels)
        return [
            _ranking(layer, self.graph, labelled, labels, relevance, count)
            for layer, relevance in enumerate(self.by_edge(), start=1)
        ]

    def _table(self, weights: Attention) -> Tensor:
        return class_relevance(self.graph, weights, self.data.labels, self.data.classes)


def _ranking(
    layer: int, graph: Graph, labelled: Tensor, labels: Tensor, relevance: Tensor, count: int
) -> LayerRanking:
    """Rank the edges `labelled` [k]; `relevance` [R, m] is of all edges."""
    ranked = relevance[:, labelled]
    order = labelled[torch.argsort(ranked, dim=1, descending=True, stable=True)]  # [R, k]
    top = order[:, :count]
    bottom = order[:, -count:]
    same = (labels[graph.receivers] == labels[graph.senders]).double()
    is_even = bool((ranked.abs().amax(1) < _EVEN).any())
    ends = torch.stack([graph.receivers, graph.senders], dim=1)
    return LayerRanking(
        layer=layer,
        count=count,
        top=None if is_even else Summary(same[top].mean(1).tolist()),
        bottom=None if is_even else Summary(same[bottom].mean(1).tolist()),
        everywhere=float(same[labelled].mean()),
        ranked=labelled.numel(),
        left_out=graph.edges - labelled.numel(),
        top_edges=ends[top].numpy(),
        bottom_edges=ends[bottom].numpy(),
    )
