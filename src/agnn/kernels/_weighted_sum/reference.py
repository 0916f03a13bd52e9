"""The definition of a weighted sum over neighbours in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._chain import heads_of


def _ends(graph: Graph, edges: int) -> tuple[Tensor, Tensor]:
    return graph.receivers[:edges], graph.senders[:edges]


def forward(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
    """The sums at the first rows; [R, rows, d K]."""
    i, j = _ends(graph, edges.shape[1])
    states = heads_of(h, loops.shape[2])  # [R, n, d, K]
    own = loops[:, :, None] * states[:, : loops.shape[1]]
    return own.index_add(1, i, edges[:, :, None] * states[:, j]).flatten(2)


def backward(
    graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
) -> tuple[Tensor, ...]:
    """The gradient at the states and, if `h` is given, the gradients at both kinds of weights."""
    dh = _state_gradient(graph, edges, loops, gradient, n)
    return (dh,) if h is None else (dh, *_weight_gradients(graph, h, gradient, loops.shape[2]))


def _state_gradient(graph: Graph, edges: Tensor, loops: Tensor, gradient: Tensor, n: int) -> Tensor:
    """The gradient at the states for one at the sums; [R, n, d K]."""
    i, j = _ends(graph, edges.shape[1])
    slopes = heads_of(gradient, loops.shape[2])  # [R, rows, d, K]
    dh = slopes.new_zeros(slopes.shape[0], n, *slopes.shape[2:])
    dh[:, : slopes.shape[1]] = loops[:, :, None] * slopes
    return torch.index_add(dh, 1, j, edges[:, :, None] * slopes[:, i]).flatten(2)


def _weight_gradients(
    graph: Graph, h: Tensor, gradient: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients at the weights: by edge [R, m', K], and of the nodes themselves."""
    rows = gradient.shape[1]
    i, j = _ends(graph, graph.edges_of(rows))
    states, slopes = (heads_of(each, heads) for each in (h, gradient))
    return (slopes[:, i] * states[:, j]).sum(2), (slopes * states[:, :rows]).sum(2)
