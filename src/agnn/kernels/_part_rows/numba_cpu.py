"""The row operations on a part in compiled CPU code: the loops of whole graphs, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cosine_attention.numba_rows import (
    BUFFERS,
    backward_rows,
    edge_buffers,
    forward_rows,
    norms as row_norms,
    slopes as row_slopes,
)
from agnn.kernels._cpu.simd import LANES, inline, jit
from agnn.kernels._cpu.threads import run_by_rows, width_argument, width_of
from agnn.kernels._part_rows import Matrices, Runs
from agnn.kernels._propagate.numba_cpu import product_rows

U = np.uint64


@inline
def _attend_runs(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, starts, ends, h, d, betas, facts, longest, out = operands
    weights = edge_buffers(1, longest, h)
    layer = (h[r], width_of(d), betas[r], facts[r])
    for k in range(begin, end):
        forward_rows(graph, layer, weights, out[r], starts[k], ends[k])


@inline
def _back_runs(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, starts, ends, h, g, rows, d, betas, facts, longest, dh, parts = operands
    buffers = edge_buffers(BUFFERS, longest, h)
    layer = (h[r], width_of(d), betas[r], facts[r])
    gradient = (g[r], U(rows))
    for k in range(begin, end):
        backward_rows(graph, layer, gradient, buffers, (dh[r], parts[r]), starts[k], ends[k])


@inline
def _propagate_runs(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, weights, loops, starts, ends, h, n, d, out = operands
    k = U(r) % U(weights.shape[0])  # one matrix, or one per replica
    matrix = (*graph, weights[k], loops[k])
    for run in range(begin, end):
        product_rows(matrix, h[r], U(n), U(d), out[r], starts[run], ends[run])


@jit
def _block_sums(parts: Any, bounds: Any, out: Any) -> None:
    for r in range(parts.shape[0]):
        for b in range(bounds.size - 1):
            block_sum = 0.0
            for i in range(bounds[b], bounds[b + 1]):
                block_sum += parts[r, i]
            out[b, r] = block_sum


def width(d: int) -> int:
    """The next multiple of a vector's numbers."""
    return -(-d // LANES) * LANES


def _edges_of(graph: Graph, h: Tensor) -> tuple[Any, ...]:
    """The edges as the rows of whole graphs read them."""
    weights = graph.weights_as(h.dtype)
    return (*graph.arrays, None if weights is None else weights.numpy())


def _lines(h: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = h.detach().numpy()
    return array.reshape(array.shape[0], -1)


def norms(h: Tensor, facts: Tensor, first: int, last: int) -> None:
    """1 / |h_i|, 0 for a zero row."""
    d = h.shape[2]
    for line, own in zip(_lines(h), _lines(facts), strict=True):
        row_norms(line, U(d), own, first, last)


def attend(graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor) -> None:
    """The new states of the rows in `runs`, and their inverse totals into `facts`."""
    operands = (
        _edges_of(graph, h),
        runs.starts,
        runs.ends,
        _lines(h),
        width_argument(h.shape[2]),
        beta.detach().numpy(),
        _lines(facts),
        graph.longest_row,
        _lines(out),
    )
    replicas = h.shape[0]
    run_by_rows(_attend_runs, operands, replicas, runs.starts.size, replicas * runs.edges)


def slopes(gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
    """g_i . o_i of the first rows."""
    d = gradient.shape[2]
    for g, o, each in zip(_lines(gradient), _lines(out), _lines(facts), strict=True):
        row_slopes(g, o, rows, U(d), each, 0, rows)


def attend_back(
    graph: Graph,
    h: Tensor,
    g: Tensor,
    beta: Tensor,
    facts: Tensor,
    runs: Runs,
    out: tuple[Tensor, Tensor],
) -> None:
    """The gradient at the rows in `runs`, and their parts of the gradient at beta."""
    dh, parts = out
    operands = (
        _edges_of(graph, h),
        runs.starts,
        runs.ends,
        _lines(h),
        _lines(g),
        h.shape[1],
        width_argument(h.shape[2]),
        beta.detach().numpy(),
        _lines(facts),
        graph.longest_row,
        _lines(dh),
        parts.numpy(),
    )
    replicas = h.shape[0]
    run_by_rows(_back_runs, operands, replicas, runs.starts.size, 2 * replicas * runs.edges)


def propagate(matrices: Matrices, h: Tensor, runs: Runs, out: Tensor) -> None:
    """P h at the rows in `runs`."""
    graph, *weights = matrices
    replicas, n, d = h.shape
    lines = (weight.detach().contiguous().numpy() for weight in weights)
    operands = (
        graph.arrays[:2],
        *lines,
        runs.starts,
        runs.ends,
        _lines(h),
        n,
        d,
        _lines(out),
    )
    run_by_rows(_propagate_runs, operands, replicas, runs.starts.size, replicas * runs.edges // 2)


def block_sums(parts: Tensor, bounds: NDArray[np.int64]) -> Tensor:
    """The sums over each block, in the order of the rows."""
    out = torch.empty(bounds.size - 1, parts.shape[0], dtype=torch.float64)
    _block_sums(parts.numpy(), bounds, out.numpy())
    return out
