"""Attention by cosine: interface and definition."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Block, Graph
from agnn.kernels._backends import implementation
from agnn.kernels._chain import (
    Attention,
    Bf16,
    Link,
    PartForms,
    check_rows,
    parameter_type,
    run_chain,
    single,
)
from agnn.kernels._weighted_sum import hold_attention

_NUMBERS_AT_ONCE: Final = 2**23  # of the replicas whose attention is computed together
_NUMBERS_OF_EDGES: Final = 2**24  # of both ends of edges that are laid out: 64 MB each


class _Backend(Protocol):
    def forward(self, graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Any]: ...

    def backward(
        self, graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: Any, gradient: Tensor
    ) -> tuple[Tensor, Tensor]: ...


class CosineAttentionLink(Link):
    """`cosine_attention` in a chain."""

    is_over_edges: ClassVar[bool] = True
    bf16: ClassVar[Bf16] = "states"
    is_attention: bool = True

    def __init__(self, graph: Graph, beta: Tensor, rows: int | None, backend: str) -> None:
        self.graph = graph
        self.beta = beta.contiguous()
        self.rows = rows
        self.parameters = (beta,)
        self.asked = backend
        self.backend: _Backend = implementation("cosine_attention", backend, graph.device.type)

    def on_block(self, block: Block) -> Link:
        """Return the layer on the graph of a block."""
        return CosineAttentionLink(block.graph, self.parameters[0], self.rows, self.asked)

    def on_part(self, forms: PartForms) -> Link:
        """Return the attention at the own rows."""
        return forms.attention(self)

    def forward(self, x: Tensor) -> Tensor:
        """The new states [R, rows, d]."""
        rows = check_rows(self.graph, x, self.rows, takes_short_on_cpu=True)
        _check_beta(x, self.beta)
        out, self.kept = self.backend.forward(self.graph, single(x), self.beta, rows)
        if out.dtype != x.dtype:
            out = out.to(x.dtype)
        self.saved = (x, out)
        return out

    def hold(self, x: Tensor) -> Tensor:
        """The weighted sum by the attention of this input."""
        weights = attention_weights(self.graph, x.detach(), self.beta.detach(), rows=self.rows)
        return hold_attention(self.graph, x, weights, self.asked)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states and at beta."""
        x, out = self.saved
        dh, dbeta = self.backend.backward(
            self.graph, single(x), self.beta, single(out), self.kept, single(gradient)
        )
        return dh if dh.dtype == x.dtype else dh.to(x.dtype), (dbeta,)


def cosine_attention(
    graph: Graph, h: Tensor, beta: Tensor, *, rows: int | None = None, backend: str = "auto"
) -> Tensor:
    """The states after one attention layer, Eq. (5) of the paper.

        out_i = sum over j in N(i) and i itself of P_ij h_j,
        P_i.  = softmax over the same j of beta cos(h_i, h_j) + log w_ij

    w_ij is the weight of an edge, 1 where the graph has no weights and for the node itself. A zero
    row has cosine 0 with every row, its own included, and passes no gradient through it.

    Args:
        graph: the undirected graph; the node itself is added here, once.
        h: states [R, n, d], float32, float64 or bfloat16, whose sums are in float32. On a pruned
            graph, n may be any count that covers the neighbours of the first `rows` rows.
        beta: one number per replica [R]; 0 gives the mean over the neighbourhood, weighted by w.
        rows: compute the first `rows` rows only; all n by default.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The new states [R, rows, d], differentiable in `h` and `beta`, once.
    """
    return run_chain([CosineAttentionLink(graph, beta, rows, backend)], h)


def attention_weights(
    graph: Graph, h: Tensor, beta: Tensor, *, rows: int | None = None
) -> Attention:
    """The attention P^(t), Eq. (7) of the paper, that `cosine_attention` weighs `h` by."""
    count = check_rows(graph, h, rows)
    _check_beta(h, beta)
    # The states of both ends of every edge are laid out: only for as many replicas at once as
    # keep that small.
    size = max(1, int(graph.offsets[count])) * h.shape[2]
    batch = max(1, _NUMBERS_AT_ONCE // size)
    batches = [
        attention(graph, *part, count)
        for part in zip(torch.split(h, batch), torch.split(beta, batch), strict=True)
    ]
    edges, loops = zip(*batches, strict=True)
    return Attention(torch.cat(edges), torch.cat(loops))


def _check_beta(h: Tensor, beta: Tensor) -> None:
    dtype = parameter_type(h.dtype)
    if beta.shape != h.shape[:1] or beta.dtype != dtype:
        raise InputError(
            f"`beta` must hold one {dtype} per replica, shape [{h.shape[0]}]; got {beta.dtype} "
            f"{list(beta.shape)}."
        )


def attention(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """P^(t) of the first `rows` nodes: by edge [R, m'] and for the node itself [R, rows].

    The m' edges are those of the first `rows` rows, in their stored order.
    """
    replicas = h.shape[0]
    edges = int(graph.offsets[rows])
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    unit = _unit(h)
    step = max(1, _NUMBERS_OF_EDGES // (replicas * h.shape[2]))
    ends = zip(torch.split(i, step), torch.split(j, step), strict=True)
    cosine = torch.cat([(unit[:, a] * unit[:, b]).sum(-1) for a, b in ends], dim=1)  # [R, m']
    loop = (unit[:, :rows] * unit[:, :rows]).sum(-1)  # [R, rows]; 1, or 0 for a zero row
    score = beta[:, None] * cosine
    loop = beta[:, None] * loop
    weights = graph.weights_as(h.dtype)
    if weights is not None:
        score = score + weights[:edges].log()  # the node itself has the weight 1
    index = i.expand(replicas, -1)
    highest = loop.detach().scatter_reduce(1, index, score.detach(), "amax")
    weight = (score - highest.gather(1, index)).exp()
    loop = (loop - highest).exp()
    total = loop.scatter_add(1, index, weight)
    return weight / total.gather(1, index), loop / total


def states(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> Tensor:
    """P^(t) h at the first `rows` nodes; [R, rows, d]."""
    edge, loop = attention(graph, h, beta, rows)
    edges = edge.shape[1]
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    return (loop[..., None] * h[:, :rows]).index_add(1, i, edge[..., None] * h[:, j])


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
