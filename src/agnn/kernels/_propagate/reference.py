"""The definition of fixed propagation in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import Propagation


def forward(propagation: Propagation, h: Tensor, rows: int) -> Tensor:
    """P h at the first `rows` nodes; [R, rows, d]."""
    graph = propagation.graph
    edges = int(graph.offsets[rows])
    i, j = graph.receivers[:edges], graph.senders[:edges]
    own = propagation.loop_weights[:rows, None] * h[:, :rows]
    return own.index_add(1, i, propagation.edge_weights[:edges, None] * h[:, j])


def backward(propagation: Propagation, gradient: Tensor, n: int) -> Tensor:
    """P^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
    graph = propagation.graph
    replicas, rows, d = gradient.shape
    edges = int(graph.offsets[rows])
    i, j = graph.receivers[:edges], graph.senders[:edges]
    dh = gradient.new_zeros(replicas, n, d)
    dh[:, :rows] = propagation.loop_weights[:rows, None] * gradient
    weighted = propagation.edge_weights[:edges, None] * gradient[:, i]
    return torch.index_add(dh, 1, j, weighted)
