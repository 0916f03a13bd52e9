"""Propagation with dropped entries on a GPU: the weights are drawn first, and kept."""

from __future__ import annotations

from torch import Tensor

from agnn.graph import Propagation
from agnn.kernels._dropout import triton_cuda as dropout
from agnn.kernels._dropped_propagate import EntryDropout, drawn_weights
from agnn.kernels._weighted_sum import triton_cuda as weighted_sum


def forward(
    propagation: Propagation, h: Tensor, rows: int, drop: EntryDropout
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """dropout(P) h at the first `rows` nodes [R, rows, d], and the weights of this step."""
    weights = drawn_weights(propagation, rows, drop, dropout)
    return weighted_sum.forward(propagation.graph, h, *weights), weights


def backward(
    propagation: Propagation,
    _drop: EntryDropout,
    drawn: tuple[Tensor, ...],
    gradient: Tensor,
    n: int,
) -> Tensor:
    """dropout(P)^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
    edges, loops = drawn
    (dh,) = weighted_sum.backward(propagation.graph, None, edges, loops, gradient, n)
    return dh
