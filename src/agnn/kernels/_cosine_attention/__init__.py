"""Attention by cosine: checks, documentation and differentiation, once for all backends."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._attention import Attention
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Bf16, Link, run_chain
from agnn.kernels._checks import check_rows, parameter_type, single
from agnn.kernels._cosine_attention import reference
from agnn.kernels._weighted_sum import weigh_held

_NUMBERS_AT_ONCE: Final = 2**23


class _Backend(Protocol):
    def forward(self, graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Any]: ...

    def backward(
        self, graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: Any, gradient: Tensor
    ) -> tuple[Tensor, Tensor]: ...


class CosineAttentionLink(Link):
    """`cosine_attention` in a chain."""

    is_over_edges: ClassVar[bool] = True
    has_samples: ClassVar[bool] = True
    bf16: ClassVar[Bf16] = "states"
    is_attention: ClassVar[bool] = True

    def __init__(self, graph: Graph, beta: Tensor, rows: int | None, backend: str) -> None:
        self.graph = graph
        self.beta = beta.contiguous()
        self.rows = rows
        self.parameters = (beta,)
        self.asked = backend
        self.backend: _Backend = implementation("cosine_attention", backend, graph.device.type)

    def on(self, graph: Graph) -> CosineAttentionLink:
        """The same layer on another graph."""
        return CosineAttentionLink(graph, self.parameters[0], self.rows, self.asked)

    def forward(self, x: Tensor) -> Tensor:
        """The new states [R, rows, d]."""
        rows = check_rows(self.graph, x, self.rows, takes_short_on_cpu=True)
        _check_beta(x, self.beta)
        out, self.kept = self.backend.forward(self.graph, single(x), self.beta, rows)
        if out.dtype != x.dtype:
            out = out.to(x.dtype)
        self.saved = (x, out)
        return out

    def held(self, x: Tensor) -> Tensor:
        """The weighted sum by the attention of this input."""
        weights = attention_weights(self.graph, x.detach(), self.beta.detach(), rows=self.rows)
        return weigh_held(self.graph, x, weights, self.asked)

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
    each = [
        reference.attention(graph, *part, count)
        for part in zip(torch.split(h, batch), torch.split(beta, batch), strict=True)
    ]
    edges, loops = zip(*each, strict=True)
    return Attention(torch.cat(edges), torch.cat(loops))


def _check_beta(h: Tensor, beta: Tensor) -> None:
    dtype = parameter_type(h.dtype)
    if beta.shape != h.shape[:1] or beta.dtype != dtype:
        raise InputError(
            f"`beta` must hold one {dtype} per replica, shape [{h.shape[0]}]; got {beta.dtype} "
            f"{list(beta.shape)}."
        )
