"""Relevance: how far attention departs from treating all neighbours alike.

By edge (Eq. 9), by pair of classes (Eq. 8), and as a ranking: how often the most and the least
relevant edges join nodes of one class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.explanation._reach import model_paths
from agnn.graph import Graph
from agnn.kernels import Attention
from agnn.metrics import Summary
from agnn.runs import Run

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    known = (receiver >= 0) & (sender >= 0)
    pair = receiver[known] * classes + sender[known]
    total = torch.zeros(classes * classes, dtype=torch.float64).index_add(0, pair, value[known])
    count = torch.bincount(pair, minlength=classes * classes)
    return (total / count).view(classes, classes)


def layer_relevances(run: Run) -> list[Tensor]:
    """Return Relevance(c2 -> c1), Eq. (8), of every layer from first to last; each [c, c].

    All labels are read, those of test nodes too: this looks back, it predicts nothing.
    """
    data = run.data
    return [
        class_relevance(run.graph, attention, data.labels, data.classes)
        for attention in whole_attention(run)
    ]


def replica_relevances(run: Run, layer: int) -> Tensor:
    """Return Relevance(c2 -> c1), Eq. (8), of one layer (from 1) in each replica; [R, c, c]."""
    layers = whole_attention(run)
    if not 1 <= layer <= len(layers):
        raise InputError(f"`layer` must be from 1 to {len(layers)}; got {layer}.")
    edges, loops = layers[layer - 1]
    alone = [Attention(edges[r : r + 1], loops[r : r + 1]) for r in range(len(edges))]
    data = run.data
    return torch.stack(
        [class_relevance(run.graph, attention, data.labels, data.classes) for attention in alone]
    )


def whole_attention(run: Run) -> list[Attention]:
    """Return P(1) to P(l) at every node; raises unless they are attention."""
    paths = model_paths(run.network, run.whole_view())
    if not paths.is_attention:
        raise InputError(
            f"relevance is defined for attention, which {run.network.title} does not learn."
        )
    return [hop.attention for hop in paths.hops]


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


def edge_ranking(run: Run, count: int = 100) -> list[LayerRanking]:
    """Return how often the `count` most and least relevant edges join equals; one ranking a layer.

    Every undirected edge is two: R(j -> i) and R(i -> j), Eq. (9), are ranked apart, without
    self-loops. Equal relevances stand in the order of their receivers, then senders. The paper's
    Table 6 is of the last layer. All labels are read: this looks back, it predicts nothing.
    """
    attention = whole_attention(run)
    data = run.data
    known = labelled_edges(run.graph, data.labels).numel()
    if not 1 <= count <= known:
        raise InputError(
            f"`count` must be between 1 and the {known} directed edges of '{data.name}' "
            f"whose ends both have a label; got {count}."
        )
    return rankings_of(run.graph, data.labels, attention, count)


def rankings_of(
    graph: Graph, labels: NDArray[np.int64], attention: Sequence[Attention], count: int
) -> list[LayerRanking]:
    """Return the same from the layers' attention, where that is at hand."""
    known = labelled_edges(graph, labels)
    classes = torch.tensor(labels)
    return [
        _ranking(layer, graph, known, classes, edge_relevance(graph, weights).edges, count)
        for layer, weights in enumerate(attention, start=1)
    ]


def labelled_edges(graph: Graph, labels: NDArray[np.int64]) -> Tensor:
    """Return where the directed edges stand whose ends both have a label; [k]."""
    is_known = torch.tensor(labels) >= 0
    return (is_known[graph.receivers] & is_known[graph.senders]).nonzero().squeeze(1)


def _ranking(
    layer: int, graph: Graph, known: Tensor, labels: Tensor, relevance: Tensor, count: int
) -> LayerRanking:
    """Rank the edges `known` [k]; `relevance` [R, m] is of all edges."""
    ranked = relevance[:, known]
    order = known[torch.argsort(ranked, dim=1, descending=True, stable=True)]  # [R, k]
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
        everywhere=float(same[known].mean()),
        ranked=known.numel(),
        left_out=graph.edges - known.numel(),
        top_edges=ends[top].numpy(),
        bottom_edges=ends[bottom].numpy(),
    )
