"""Cosine attention in compiled CPU code: the rows of `numba_rows.py`, over replicas and threads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cosine_attention import reference
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
from agnn.kernels._cpu.lines import as_lines, new_lines, width_argument, width_of, without_padding
from agnn.kernels._cpu.simd import compiled
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces

U = np.uint64
# Below this beta, the constant shift could let a whole row underflow in float32.
_LOWEST_BETA = -40.0


class _Kept(NamedTuple):
    """What the backward pass reads of the forward pass."""

    facts: NDArray[Any]  # [R, n * FACTS]
    extreme: list[int]  # the replicas with such a beta: the reference computes them


@compiled
def _forward_units(
    offsets: Any, columns: Any, receivers: Any, edge_weights: Any, h: Any, n: Any, d: Any,
    rows: Any, beta: Any, facts: Any, longest: Any, out: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    weights = edge_buffers(1, longest, h)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(rows * piece // pieces), U(rows * (piece + 1) // pieces)
        if pieces == 1:
            norms(h[r], width_of(d), facts[r], 0, n)
        forward_rows(
            offsets, columns, receivers, edge_weights, h[r], width_of(d), beta[r],
            facts[r], weights, out[r], begin, end,
        )  # fmt: skip


@compiled
def _backward_units(
    offsets: Any, columns: Any, receivers: Any, edge_weights: Any, h: Any, g: Any, o: Any, n: Any,
    d: Any, rows: Any, beta: Any, facts: Any, longest: Any, dh: Any,
    parts: Any, order: Any, dbeta: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last, as in the forward pass."""
    buffers = edge_buffers(BUFFERS, longest, h)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(n * piece // pieces), U(n * (piece + 1) // pieces)
        if pieces == 1:
            slopes(g[r], o[r], rows, width_of(d), facts[r], 0, n)
        backward_rows(
            offsets, columns, receivers, edge_weights, h[r], g[r], U(rows),
            width_of(d), beta[r], facts[r], buffers, dh[r], parts[r], begin, end,
        )  # fmt: skip
        if pieces == 1:
            dbeta[r] = sum_in_order(parts[r], order)


@compiled
def _norm_units(h: Any, d: Any, facts: Any, n: Any, pieces: Any, first: Any, last: Any) -> None:
    """The norms of work units first..last, where rows are cut: before any row is computed."""
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        norms(h[r], width_of(d), facts[r], n * piece // pieces, n * (piece + 1) // pieces)


@compiled
def _slope_units(
    g: Any, o: Any, rows: Any, d: Any, facts: Any, n: Any, pieces: Any, first: Any, last: Any
) -> None:
    """The slopes of work units first..last, likewise."""
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        slopes(
            g[r], o[r], rows, width_of(d), facts[r], n * piece // pieces, n * (piece + 1) // pieces
        )


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, _Kept]:
    """The new states [R, rows, d], and what the backward pass reads."""
    source, d = as_lines(h)
    replicas, n, width = h.shape
    betas, used = beta.numpy(force=True), graph.around(rows)
    cost = replicas * (used.edges + rows)
    pieces = pieces_of(replicas, cost)
    wide, facts = width_argument(d), np.empty((replicas, n * FACTS), source.dtype)
    out, made = new_lines(replicas, rows, d, h.dtype)
    if pieces > 1:
        run_in_pieces(_norm_units, (source, wide, facts, n, pieces), replicas * pieces, cost)
    arguments = (
        *used.arrays, _weights(used, h), source, n, wide, rows, betas, facts,
        used.longest_row, made, pieces,
    )  # fmt: skip
    run_in_pieces(_forward_units, arguments, replicas * pieces, cost)
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
    (source, d), (o, _), (g, _) = as_lines(h), as_lines(out), as_lines(gradient)
    rows = out.shape[1]
    # A second backward pass may need the facts again: only slopes are written into them here,
    # and the totals of rows that have none.
    (facts, extreme), betas, used = kept, beta.numpy(force=True), graph.around(rows)
    wide, reached = width_argument(d), used.nodes
    cost = 2 * replicas * (used.edges + reached)
    pieces = pieces_of(replicas, cost)
    dh, made = new_lines(replicas, n, d, h.dtype)
    dbeta = torch.empty(replicas, dtype=h.dtype)
    parts = np.empty((replicas, n), facts.dtype)
    if pieces > 1:
        shared = (g, o, rows, wide, facts, n, pieces)
        run_in_pieces(_slope_units, shared, replicas * pieces, cost)
    if reached < n:
        dh[:, reached:] = 0  # rows that have no part in the output
    arguments = (
        *used.arrays, _weights(used, h), source, g, o, reached, wide, rows,
        betas, facts, used.longest_row, made, parts, used.summation_order,
        dbeta.numpy(), pieces,
    )  # fmt: skip
    run_in_pieces(_backward_units, arguments, replicas * pieces, cost)
    if pieces > 1:
        for r in range(replicas):
            dbeta[r] = sum_in_order(parts[r], used.summation_order)
    gradients = without_padding(dh, width)
    for r in extreme:
        own = slice(r, r + 1)
        gradients[own], dbeta[own] = reference.backward(
            graph, h[own], beta[own], out[own], None, gradient[own]
        )
    return gradients, dbeta
