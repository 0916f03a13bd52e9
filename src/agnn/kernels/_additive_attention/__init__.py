"""Attention by an added score: checks, documentation and differentiation, for all backends."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._additive_attention import reference
from agnn.kernels._attention import Attention
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain
from agnn.kernels._checks import check_heads, check_rows
from agnn.kernels._dropout.stream import DropoutAt
from agnn.kernels._weighted_sum import weigh_held


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
    is_attention: ClassVar[bool] = True
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
        self.watched = tuple(each.epoch for each in self.draws[1:] if each is not None)

    def forward(self, x: Tensor) -> Tensor:
        """The new states [R, rows, d K]."""
        rows = check_rows(self.graph, x, self.rows)
        _check(x, *self.vectors, self.draws.row_ids)
        out, self.kept = self.backend.forward(self.graph, x, self.vectors, rows, self.draws)
        self.saved = (x, out)
        return out

    def held(self, x: Tensor) -> Tensor:
        """The weighted sum by the attention of this input, head by head, and the bias."""
        receiving, sending, bias = (each.detach() for each in self.vectors)
        weights = additive_attention_weights(
            self.graph, x.detach(), receiving, sending, rows=self.rows
        )
        return weigh_held(self.graph, x, weights, self.asked) + bias[:, None]

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states, at the two vectors and at the bias."""
        h, out = self.saved
        dh, *others = self.backend.backward(
            self.graph, h, self.vectors, out, self.kept, self.draws, gradient
        )
        return dh, tuple(others)


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
    return Attention(*reference.attention(graph, h, receiving, sending, count))


def _check(h: Tensor, receiving: Tensor, sending: Tensor, bias: Tensor, row_ids: Tensor) -> None:
    replicas, n, width = h.shape
    heads = receiving.shape[-1]
    check_heads(h, heads)
    wanted = {"receiving": [replicas, width // heads, heads], "bias": [replicas, width]}
    wanted["sending"] = wanted["receiving"]
    for name, value in (("receiving", receiving), ("sending", sending), ("bias", bias)):
        if list(value.shape) != wanted[name] or value.dtype != h.dtype:
            raise InputError(
                f"`{name}` must be {h.dtype} of shape {wanted[name]}; got {value.dtype} "
                f"{list(value.shape)}."
            )
    if row_ids.numel() < n:
        raise InputError(f"`row_ids` has {row_ids.numel()} labels for the {n} rows of `h`.")
