"""The definition of cosine attention in plain torch; other backends are compared with it."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.graph import Graph

_NUMBERS_AT_ONCE: Final = 2**24  # of both ends of edges that are laid out: 64 MB each


def attention(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """P^(t) of the first `rows` nodes: by edge [R, m'] and for the node itself [R, rows].

    The m' edges are those of the first `rows` rows, in their stored order.
    """
    replicas = h.shape[0]
    edges = int(graph.offsets[rows])
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    unit = _unit(h)
    step = max(1, _NUMBERS_AT_ONCE // (replicas * h.shape[2]))
    ends = zip(torch.split(i, step), torch.split(j, step), strict=True)
    cosine = torch.cat([(unit[:, a] * unit[:, b]).sum(-1) for a, b in ends], dim=1)  # [R, m']
    own = (unit[:, :rows] * unit[:, :rows]).sum(-1)  # [R, rows]; 1, or 0 for a zero row
    score = beta[:, None] * cosine
    own = beta[:, None] * own
    weights = graph.weights_as(h.dtype)
    if weights is not None:
        score = score + weights[:edges].log()  # the node itself has the weight 1
    index = i.expand(replicas, -1)
    highest = own.detach().scatter_reduce(1, index, score.detach(), "amax")
    weight = (score - highest.gather(1, index)).exp()
    own = (own - highest).exp()
    total = own.scatter_add(1, index, weight)
    return weight / total.gather(1, index), own / total


def states(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> Tensor:
    """P^(t) h at the first `rows` nodes; [R, rows, d]."""
    edge, own = attention(graph, h, beta, rows)
    edges = edge.shape[1]
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    return (own[..., None] * h[:, :rows]).index_add(1, i, edge[..., None] * h[:, j])


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, None]:
    """The new states; nothing is kept for the backward pass, which differentiates the formula."""
    return states(graph, h, beta, rows), None


def backward(
    graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: None, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients at `h` and `beta`, by torch's own differentiation of `states`."""
    del kept
    with torch.enable_grad():
        h = h.detach().requires_grad_()
        beta = beta.detach().requires_grad_()
        again = states(graph, h, beta, out.shape[1])
        dh, dbeta = torch.autograd.grad(again, (h, beta), gradient)
    return dh, dbeta


def _unit(h: Tensor) -> Tensor:
    """Rows of length 1; a zero row stays zero and passes no gradient."""
    zero = (h == 0).all(-1, keepdim=True)
    return F.normalize(h.masked_fill(zero, 1.0), dim=-1).masked_fill(zero, 0.0)
