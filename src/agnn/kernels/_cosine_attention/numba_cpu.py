"""Cosine attention in compiled CPU code: the rows of `numba_rows.py`, over replicas and threads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import _cosine_attention as reference
from agnn.kernels._cosine_attention.numba_rows import (
    BUFFERS,
    FACTS,
    backward_rows,
    edge_buffers,
    forward_rows,
    norms,
    slopes,
    sum_in_order,
)
from agnn.kernels._cpu.simd import inline
from agnn.kernels._cpu.threads import (
    as_lines,
    new_lines,
    pieces_of,
    run_by_rows,
    width_argument,
    width_of,
    without_padding,
)

U = np.uint64
# Below this beta, the constant shift could let a whole row underflow in float32.
_LOWEST_BETA = -40.0


class _Kept(NamedTuple):
    """What the backward pass reads of the forward pass."""

    facts: NDArray[Any]  # [R, n * FACTS]
    extreme: list[int]  # the replicas with such a beta: the reference computes them


@inline
def _forward_rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, h, n, d, rows, betas, facts, longest, out = operands
    if end - begin == U(rows):  # not cut, so the norms are its own to compute
        norms(h[r], width_of(d), facts[r], 0, n)
    layer = (h[r], width_of(d), betas[r], facts[r])
    forward_rows(graph, layer, edge_buffers(1, longest, h), out[r], begin, end)


@inline
def _backward_rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, h, g, o, n, d, rows, betas, facts, longest, dh, parts, order, dbeta = operands
    is_whole = end - begin == U(n)
    if is_whole:
        slopes(g[r], o[r], rows, width_of(d), facts[r], 0, n)
    layer = (h[r], width_of(d), betas[r], facts[r])
    buffers = edge_buffers(BUFFERS, longest, h)
    backward_rows(graph, layer, (g[r], U(rows)), buffers, (dh[r], parts[r]), begin, end)
    if is_whole:
        dbeta[r] = sum_in_order(parts[r], order)


@inline
def _norm_rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    """The norms where rows are cut: before any row is computed."""
    h, d, facts = operands
    norms(h[r], width_of(d), facts[r], begin, end)


@inline
def _slope_rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    """The slopes, likewise."""
    g, o, rows, d, facts = operands
    slopes(g[r], o[r], U(rows), width_of(d), facts[r], begin, end)


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, _Kept]:
    """The new states [R, rows, d], and what the backward pass reads."""
    source, d = as_lines(h)
    replicas, n, width = h.shape
    betas = beta.numpy(force=True)
    used = graph.around(rows)
    cost = replicas * (used.edges + rows)
    pieces = pieces_of(replicas, cost)
    wide = width_argument(d)
    facts = np.empty((replicas, n * FACTS), source.dtype)
    out, out_lines = new_lines(replicas, rows, d, h.dtype)
    if pieces > 1:
        run_by_rows(_norm_rows, (source, wide, facts), replicas, n, cost, pieces=pieces)
    edges = (*used.arrays, _weights(used, h))
    operands = (edges, source, n, wide, rows, betas, facts, used.longest_row, out_lines)
    run_by_rows(_forward_rows, operands, replicas, rows, cost, pieces=pieces)
    states = without_padding(out, width)
    extreme = [r for r, value in enumerate(betas.tolist()) if value < _LOWEST_BETA]
    for r in extreme:
        states[r] = reference.states(graph, h[r : r + 1], beta[r : r + 1], rows)[0]
    return states, _Kept(facts, extreme)


def _weights(used: Graph, h: Tensor) -> NDArray[Any] | None:
    """The weights by edge in the type of the states; None where there are none."""
    weights = used.weights_as(h.dtype)
    return None if weights is None else weights.numpy()


def backward(
    graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: _Kept, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients at `h` [R, n, d] and at `beta` [R]."""
    replicas, n, width = h.shape
    source, d = as_lines(h)
    o, _ = as_lines(out)
    g, _ = as_lines(gradient)
    rows = out.shape[1]
    # A second backward pass may need the facts again: only slopes are written into them here,
    # and the totals of rows that have none.
    facts, extreme = kept
    betas = beta.numpy(force=True)
    used = graph.around(rows)
    wide = width_argument(d)
    reached = used.nodes
    cost = 2 * replicas * (used.edges + reached)
    pieces = pieces_of(replicas, cost)
    dh, dh_lines = new_lines(replicas, n, d, h.dtype)
    dbeta = torch.empty(replicas, dtype=h.dtype)
    parts = np.empty((replicas, n), facts.dtype)
    if pieces > 1:
        run_by_rows(_slope_rows, (g, o, rows, wide, facts), replicas, n, cost, pieces=pieces)
    if reached < n:
        dh[:, reached:] = 0  # rows that have no part in the output
    edges = (*used.arrays, _weights(used, h))
    order = used.summation_order
    layer = (edges, source, g, o, reached, wide, rows, betas, facts, used.longest_row)
    operands = (*layer, dh_lines, parts, order, dbeta.numpy())
    run_by_rows(_backward_rows, operands, replicas, reached, cost, pieces=pieces)
    if pieces > 1:
        for r in range(replicas):
            dbeta[r] = sum_in_order(parts[r], order)
    gradients = without_padding(dh, width)
    for r in extreme:
        replica = slice(r, r + 1)
        gradients[replica], dbeta[replica] = reference.backward(
            graph, h[replica], beta[replica], out[replica], None, gradient[replica]
        )
    return gradients, dbeta
