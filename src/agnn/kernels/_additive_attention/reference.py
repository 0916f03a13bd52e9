"""The definition of additive attention in plain torch; other backends are compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import _dropout as dropout
from agnn.kernels._chain import heads_of
from agnn.kernels._dropout import factors

if TYPE_CHECKING:
    from agnn.kernels._additive_attention import Draws, Vectors
    from agnn.kernels._dropout.stream import DropoutAt

SLOPE = 0.2  # of the leaky ReLU, as in the paper


def attention(
    graph: Graph, h: Tensor, receiving: Tensor, sending: Tensor, rows: int
) -> tuple[Tensor, Tensor]:
    """P of the first `rows` nodes: by edge [R, m', K] and for the node itself [R, rows, K].

    The m' edges are those of the first `rows` rows, in their stored order.
    """
    heads = receiving.shape[2]
    states = heads_of(h, heads)  # [R, n, d, K]
    a = (states[:, :rows] * receiving[:, None]).sum(2)  # [R, rows, K]
    b = (states * sending[:, None]).sum(2)  # [R, n, K]
    edges = graph.edges_of(rows)
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    score, own = (F.leaky_relu(s, SLOPE) for s in (a[:, i] + b[:, j], a + b[:, :rows]))
    index = i[None, :, None].expand_as(score)
    highest = own.detach().scatter_reduce(1, index, score.detach(), "amax")
    weight = (score - highest[:, i]).exp()
    own = (own - highest).exp()
    total = own.index_add(1, i, weight)
    return weight / total[:, i], own / total


def dropped(
    graph: Graph, edge: Tensor, own: Tensor, row_ids: Tensor, drop: DropoutAt
) -> tuple[Tensor, Tensor]:
    """The attention after dropout: entry (i, j K + k) of the random numbers is edge (i, j)'s."""
    edges = edge.shape[1]
    rows = own.shape[1]
    heads = own.shape[2]
    i = row_ids[graph.receivers[:edges]]
    j = row_ids[graph.senders[:edges]]
    nodes = row_ids[:rows]
    head = torch.arange(heads, device=own.device)

    def drawn(weight: Tensor, i: Tensor, j: Tensor) -> Tensor:
        columns = (j[:, None] * heads + head).reshape(-1)
        found = factors(drop, i.repeat_interleave(heads), columns, weight.dtype)
        return weight * found.view(weight.shape)

    return drawn(edge, i, j), drawn(own, nodes, nodes)


def states(graph: Graph, h: Tensor, vectors: Vectors, rows: int, draws: Draws) -> Tensor:
    """B + dropout(P) dropout(h), head by head, at the first `rows` nodes; [R, rows, d K]."""
    receiving, sending, bias = vectors
    row_ids, drop, value_drop = draws
    edge, own = attention(graph, h, receiving, sending, rows)
    if drop is not None:
        edge, own = dropped(graph, edge, own, row_ids, drop)
    edges = edge.shape[1]
    heads = own.shape[2]
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    if value_drop is not None:
        h = dropout.forward(h, row_ids[: h.shape[1]], value_drop)
    values = heads_of(h, heads)
    kept = own[:, :, None] * values[:, :rows]
    return kept.index_add(1, i, edge[:, :, None] * values[:, j]).flatten(2) + bias[:, None]


def forward(
    graph: Graph, h: Tensor, vectors: Vectors, rows: int, draws: Draws
) -> tuple[Tensor, None]:
    """The new states; nothing is kept for the backward pass, which differentiates the formula."""
    return states(graph, h, vectors, rows, draws), None


def backward(
    graph: Graph,
    h: Tensor,
    vectors: Vectors,
    out: Tensor,
    kept: None,
    draws: Draws,
    gradient: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients at `h`, `receiving`, `sending` and `bias`, by torch's own differentiation."""
    del kept
    with torch.enable_grad():
        leaves = [each.detach().requires_grad_() for each in (h, *vectors)]
        again = states(graph, leaves[0], type(vectors)(*leaves[1:]), out.shape[1], draws)
        return torch.autograd.grad(again, leaves, gradient)
