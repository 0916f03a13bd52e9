"""Attention by cosine: checks, documentation and differentiation, once for all backends."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels.backends import implementation
from agnn.kernels.checks import check_rows
from agnn.kernels.cosine_attention import reference


class Attention(NamedTuple):
    """P^(t) of some receivers: what each pays to its neighbours and to itself."""

    edges: Tensor  # [R, m'] P[i, j] for the stored edges of the receivers, in stored order
    loops: Tensor  # [R, rows] P[i, i]


class _CosineAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, beta: Tensor, graph: Graph, rows: int, backend: ModuleType
    ) -> Tensor:
        out, ctx.kept = backend.forward(graph, h, beta, rows)
        ctx.save_for_backward(h, beta, out)
        ctx.graph, ctx.backend = graph, backend
        result: Tensor = out
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        h, beta, out = ctx.saved_tensors
        dh, dbeta = ctx.backend.backward(ctx.graph, h, beta, out, ctx.kept, gradients[0])
        return dh, dbeta, None, None, None


def cosine_attention(
    graph: Graph, h: Tensor, beta: Tensor, *, rows: int | None = None, backend: str = "auto"
) -> Tensor:
    """The states after one attention layer, Eq. (5) of the paper.

        out_i = sum over j in N(i) and i itself of P_ij h_j,
        P_i.  = softmax over the same j of beta cos(h_i, h_j)

    A zero row has cosine 0 with every row, its own included, and passes no gradient through it.

    Args:
        graph: the undirected graph; the node itself is added here, once.
        h: states [R, n, d]. On a pruned graph, n may be any count that covers the neighbours of
            the first `rows` rows.
        beta: one number a replica [R]; 0 gives the plain mean over the neighbourhood.
        rows: compute the first `rows` rows only; all n by default.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The new states [R, rows, d], differentiable in `h` and `beta`, once.
    """
    count = check_rows(graph, h, rows)
    _check_beta(h, beta)
    chosen = implementation("cosine_attention", backend, h.device.type)
    beta = beta.contiguous()
    result: Tensor = _CosineAttention.apply(h, beta, graph, count, chosen)  # type: ignore[no-untyped-call]
    return result


def attention_weights(
    graph: Graph, h: Tensor, beta: Tensor, *, rows: int | None = None
) -> Attention:
    """The attention P^(t), Eq. (7) of the paper, that `cosine_attention` weighs `h` by."""
    count = check_rows(graph, h, rows)
    _check_beta(h, beta)
    return Attention(*reference.attention(graph, h, beta, count))


def _check_beta(h: Tensor, beta: Tensor) -> None:
    if beta.shape != h.shape[:1] or beta.dtype != h.dtype:
        raise InputError(
            f"`beta` must hold one {h.dtype} a replica, shape [{h.shape[0]}]; got {beta.dtype} "
            f"{list(beta.shape)}."
        )
