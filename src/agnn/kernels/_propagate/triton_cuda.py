"""Fixed propagation on a GPU; the backward pass is the same product, transposed."""

from __future__ import annotations

from torch import Tensor

from agnn.graph import Propagation
from agnn.kernels._gpu.products import Lines, products


def _product(propagation: Propagation, weights: Tensor, h: Tensor, rows: int) -> Tensor:
    graph = propagation.graph
    lines = Lines(graph.offsets, graph.columns, weights, graph.long_rows)
    return products(lines, h, rows, own=propagation.loop_weights)


def forward(propagation: Propagation, h: Tensor, rows: int) -> Tensor:
    """P h at the first `rows` nodes; [R, rows, d]."""
    return _product(propagation, propagation.edge_weights, h, rows)


def backward(propagation: Propagation, gradient: Tensor, n: int) -> Tensor:
    """P^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
    return _product(propagation, propagation.transposed_weights, gradient, n)
