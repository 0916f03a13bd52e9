"""Attention by an added score: interface and definition."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels import _dropout as dropout
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Attention, Link, check_heads, check_rows, run_chain
from agnn.kernels._dropout import DropoutAt, factors
from agnn.kernels._links import heads_of
from agnn.kernels._weighted_sum import hold_attention

SLOPE = 0.2  # of the leaky ReLU, as in the paper


class Vectors(NamedTuple):
    """The parameters of a layer."""

    receiving: Tensor  # [R, d, K]
    sending: Tensor  # [R, d, K]
    bias: Tensor  # [R, d K]


class Draws(NamedTuple):
    """The dropout of a layer, None where nothing is dropped."""

    row_ids: Tensor  # [n], the rows' labels in the whole graph
    drop: DropoutAt | None  # of the weights
    value_drop: DropoutAt | None  # of the states that are summed


class _Backend(Protocol):
    def forward(
        self, graph: Graph, h: Tensor, vectors: Vectors, rows: int, draws: Draws
    ) -> tuple[Tensor, Any]: ...

    def backward(
        self,
        graph: Graph,
        h: Tensor,
        vectors: Vectors,
        out: Tensor,
        kept: Any,
        draws: Draws,
        gradient: Tensor,
    ) -> tuple[Tensor, ...]: ...


class AdditiveAttentionLink(Link):
    """`additive_attention` in a chain."""

    is_over_edges: ClassVar[bool] = True
    is_attention: bool = True
    has_heads: bool = True

    def __init__(
        self,
        graph: Graph,
        vectors: tuple[Tensor, Tensor, Tensor],
        rows: int | None,
        draws: tuple[Tensor, DropoutAt | None, DropoutAt | None],
        backend: str,
    ) -> None:
        self.graph = graph
        self.rows = rows
        self.asked = backend
        self.backend: _Backend = implementation("additive_attention", backend, graph.device.type)
        self.vectors = Vectors(*vectors)
        self.draws = Draws(*draws)
        self.parameters = vectors
        # In another epoch the backward pass would draw other numbers.
        self.watched = tuple(drop.epoch for drop in self.draws[1:] if drop is not None)

    def forward(self, x: Tensor) -> Tensor:
        """The new states [R, rows, d K]."""
        rows = check_rows(self.graph, x, self.rows)
        _check(x, *self.vectors, self.draws.row_ids)
        out, self.kept = self.backend.forward(self.graph, x, self.vectors, rows, self.draws)
        self.saved = (x, out)
        return out

    def hold(self, x: Tensor) -> Tensor:
        """The weighted sum by the attention of this input, head by head, and the bias."""
        receiving, sending, bias = (vector.detach() for vector in self.vectors)
        weights = additive_attention_weights(
            self.graph, x.detach(), receiving, sending, rows=self.rows
        )
        return hold_attention(self.graph, x, weights, self.asked) + bias[:, None]

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states, at the two vectors and at the bias."""
        h, out = self.saved
        dh, *rest = self.backend.backward(
            self.graph, h, self.vectors, out, self.kept, self.draws, gradient
        )
        return dh, tuple(rest)


def additive_attention(
    graph: Graph,
    h: Tensor,
    receiving: Tensor,
    sending: Tensor,
    bias: Tensor,
    *,
    row_ids: Tensor,
    rows: int | None = None,
    drop: DropoutAt | None = None,
    value_drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """The states after one layer of a graph attention network, its K heads side by side.

        out_i = b + sum over j in N(i) and i itself of dropout(P)_ij dropout(h)_j,
        P_i.  = softmax over the same j of leaky_relu(receiving . h_i + sending . h_j)

    for every head on its own. Column f K + k of `h` and of the output is feature f of head k.

    Args:
        graph: the undirected graph; the node itself is added here, once.
        h: states [R, n, d K]. On a pruned graph, n may be any count that covers the neighbours of
            the first `rows` rows.
        receiving: what a receiver's state is multiplied by in its score [R, d, K].
        sending: the same for a sender [R, d, K].
        bias: b [R, d K].
        row_ids: the rows' labels in the whole graph [n], by which dropout draws its numbers.
        rows: compute the first `rows` rows only; all n by default.
        drop: the dropout of P, or None for none.
        value_drop: the dropout of the states that are summed, not of those that give the scores.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The new states [R, rows, d K], differentiable, once, in `h`, the two vectors and the bias.
    """
    vectors = (receiving, sending, bias)
    draws = (row_ids, drop, value_drop)
    return run_chain([AdditiveAttentionLink(graph, vectors, rows, draws, backend)], h)


def additive_attention_weights(
    graph: Graph, h: Tensor, receiving: Tensor, sending: Tensor, *, rows: int | None = None
) -> Attention:
    """The attention P that `additive_attention` weighs `h` by: edges [R, m', K], loops alike."""
    count = check_rows(graph, h, rows)
    return Attention(*attention(graph, h, receiving, sending, count))


def _check(h: Tensor, receiving: Tensor, sending: Tensor, bias: Tensor, row_ids: Tensor) -> None:
    replicas, n, width = h.shape
    heads = receiving.shape[-1]
    check_heads(h, heads)
    expected = {"receiving": [replicas, width // heads, heads], "bias": [replicas, width]}
    expected["sending"] = expected["receiving"]
    for name, value in (("receiving", receiving), ("sending", sending), ("bias", bias)):
        if list(value.shape) != expected[name] or value.dtype != h.dtype:
            raise InputError(
                f"`{name}` must be {h.dtype} of shape {expected[name]}; got {value.dtype} "
                f"{list(value.shape)}."
            )
    if row_ids.numel() < n:
        raise InputError(f"`row_ids` has {row_ids.numel()} labels for the {n} rows of `h`.")


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
    score, loop = (F.leaky_relu(s, SLOPE) for s in (a[:, i] + b[:, j], a + b[:, :rows]))
    index = i[None, :, None].expand_as(score)
    highest = loop.detach().scatter_reduce(1, index, score.detach(), "amax")
    weight = (score - highest[:, i]).exp()
    loop = (loop - highest).exp()
    total = loop.index_add(1, i, weight)
    return weight / total[:, i], loop / total


def drop_attention(
    graph: Graph, edge: Tensor, loop: Tensor, row_ids: Tensor, drop: DropoutAt
) -> tuple[Tensor, Tensor]:
    """The attention after dropout: entry (i, j K + k) of the random numbers is edge (i, j)'s."""
    edges = edge.shape[1]
    rows = loop.shape[1]
    heads = loop.shape[2]
    i = row_ids[graph.receivers[:edges]]
    j = row_ids[graph.senders[:edges]]
    nodes = row_ids[:rows]
    head = torch.arange(heads, device=loop.device)

    def drop_heads(weight: Tensor, i: Tensor, j: Tensor) -> Tensor:
        columns = (j[:, None] * heads + head).reshape(-1)
        factor = factors(drop, i.repeat_interleave(heads), columns, weight.dtype)
        return weight * factor.view(weight.shape)

    return drop_heads(edge, i, j), drop_heads(loop, nodes, nodes)


def states(graph: Graph, h: Tensor, vectors: Vectors, rows: int, draws: Draws) -> Tensor:
    """B + dropout(P) dropout(h), head by head, at the first `rows` nodes; [R, rows, d K]."""
    receiving, sending, bias = vectors
    row_ids, drop, value_drop = draws
    edge, loop = attention(graph, h, receiving, sending, rows)
    if drop is not None:
        edge, loop = drop_attention(graph, edge, loop, row_ids, drop)
    edges = edge.shape[1]
    heads = loop.shape[2]
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    if value_drop is not None:
        h = dropout.forward(h, row_ids[: h.shape[1]], value_drop)
    values = heads_of(h, heads)
    of_loops = loop[:, :, None] * values[:, :rows]
    return of_loops.index_add(1, i, edge[:, :, None] * values[:, j]).flatten(2) + bias[:, None]


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
        leaves = [leaf.detach().requires_grad_() for leaf in (h, *vectors)]
        again = states(graph, leaves[0], type(vectors)(*leaves[1:]), out.shape[1], draws)
        return torch.autograd.grad(again, leaves, gradient)
