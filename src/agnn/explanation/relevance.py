"""Relevance: how far attention departs from treating all neighbours alike."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import Attention


def edge_relevance(graph: Graph, attention: Attention) -> Attention:
    """R(j -> i) = (P_ij - u_i) / u_i with u_i = 1 / (|N(i)| + 1), Eq. (9) of the paper.

    Zero where a node attends evenly; the same shapes as the attention it is made from, which may
    be that of the first rows only.
    """
    rows, edges = attention.loops.shape[1], attention.edges.shape[1]
    size = (graph.degrees[:rows] + 1).to(attention.edges.dtype)
    return Attention(
        attention.edges * size[graph.receivers[:edges]] - 1.0,
        attention.loops * size - 1.0,
    )


def class_relevance(
    graph: Graph, attention: Attention, labels: NDArray[np.int64], classes: int
) -> Tensor:
    """Relevance(c2 -> c1), Eq. (8): the mean R(j -> i) over edges and self-loops; [c, c] float64.

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
