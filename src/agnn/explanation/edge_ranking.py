"""Attention quality: how often the most and the least relevant edges stay inside a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation.model_relevance import trained_network, whole_attention
from agnn.explanation.relevance import edge_relevance
from agnn.metrics import Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData
    from agnn.graph import Graph
    from agnn.kernels import Attention
    from agnn.nn import NodeModel

# A layer whose relevances are all below this attends evenly (beta = 0): what order is left in
# them is rounding.
_EVEN: Final = 1e-5


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


def edge_ranking(model: NodeModel | None, data: NodeData, count: int = 100) -> list[LayerRanking]:
    """How often the `count` most and least relevant edges join equals; one ranking a layer.

    Every undirected edge is two: R(j -> i) and R(i -> j), Eq. (9), are ranked apart, without
    self-loops. Equal relevances stand in the order of their receivers, then senders. The paper's
    Table 6 is of the last layer. All labels are read: this looks back, it predicts nothing.
    """
    trained = trained_network(model, data)
    attention = whole_attention(trained)
    known = labelled_edges(trained.graph, data.labels).numel()
    if not 1 <= count <= known:
        raise InputError(
            f"`count` must be between 1 and the {known} directed edges of '{data.name}' "
            f"whose ends both have a label; got {count}."
        )
    return rankings_of(trained.graph, data.labels, attention, count)


def rankings_of(
    graph: Graph, labels: NDArray[np.int64], attention: Sequence[Attention], count: int
) -> list[LayerRanking]:
    """The same from the layers' attention, where that is at hand."""
    known, classes = labelled_edges(graph, labels), torch.tensor(labels)
    return [
        _ranking(layer, graph, known, classes, edge_relevance(graph, each).edges, count)
        for layer, each in enumerate(attention, start=1)
    ]


def labelled_edges(graph: Graph, labels: NDArray[np.int64]) -> Tensor:
    """Where the directed edges stand whose ends both have a label; [k]."""
    is_known = torch.tensor(labels) >= 0
    return (is_known[graph.receivers] & is_known[graph.senders]).nonzero().squeeze(1)


def _ranking(
    layer: int, graph: Graph, known: Tensor, labels: Tensor, relevance: Tensor, count: int
) -> LayerRanking:
    """`known` [k] says which edges are ranked; `relevance` [R, m] is of all edges."""
    own = relevance[:, known]
    order = known[torch.argsort(own, dim=1, descending=True, stable=True)]  # [R, k]
    top, bottom = order[:, :count], order[:, -count:]
    same = (labels[graph.receivers] == labels[graph.senders]).double()
    is_even = bool((own.abs().amax(1) < _EVEN).any())
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
