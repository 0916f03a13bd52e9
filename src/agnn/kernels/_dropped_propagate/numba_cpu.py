"""Propagation with dropped entries in compiled CPU code.

The weights of an edge are drawn where they are read, there and back, and never stored. Replicas
stand side by side in blocks of 16 lanes: a vector has an edge's weights of several replicas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph, Propagation
from agnn.kernels._cpu.blocks import as_blocks, from_blocks, replica_of_lane
from agnn.kernels._cpu.simd import LANES, inline, load, multiply, multiply_add, splat, store
from agnn.kernels._cpu.threads import new_lines, run_by_rows
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._dropout.numba_cpu import epoch_state, is_kept, mix
from agnn.kernels._dropped_propagate import EntryDropout

U = np.uint64
U32 = np.uint32
_ONE = U(1)
_LANES = U(LANES)


@inline
def _lane_draws(drop: Any, b: Any, like: Any) -> Any:
    """What the lanes of a block need to draw: the first key, the epoch, threshold and scale."""
    keys, thresholds, scales, epoch = drop
    firsts = np.empty(LANES, np.uint32)
    states = np.empty(LANES, np.uint32)
    limits = np.empty(LANES, np.uint32)
    factors = np.empty(LANES, like.dtype)
    for lane in range(LANES):
        at = b * LANES + lane
        firsts[lane] = keys[at, 0]
        states[lane] = epoch_state(keys[at], epoch)
        limits[lane] = thresholds[at]
        factors[lane] = scales[at]
    return firsts, states, limits, factors


@inline
def _draw_weights(weight: Any, label: Any, draws: Any, lanes: Any, at: Any, end: Any) -> None:
    """The weight of an entry in every lane from `at` on, dropped or scaled up: dropout's column 0.

    `end` is 16, as a variable: LLVM would unroll a loop of known length before it makes vectors.
    """
    firsts, states, limits, factors = draws
    zero = lanes.dtype.type(0)
    for lane in range(end):
        row = U32(mix(U32(U32(label) + states[lane])) ^ firsts[lane])
        kept = is_kept(row, U32(0), limits[lane])
        lanes[at + lane] = weight * factors[lane] if kept else zero


@inline
def _sum_rows(operands: Any, b: Any, first: Any, last: Any) -> None:
    """Rows first..last of a block's sums; rows of the states from `readable` on count as zero."""
    offsets, columns, weights, labels, drops, states, sizes, sums = operands
    readable = U(sizes[0])
    end = U(sizes[1])
    h = states[b]
    out = sums[b]
    edge_draws = _lane_draws(drops[0], b, h)
    loop_draws = _lane_draws(drops[1], b, h)
    lanes = np.empty((sizes[2] + 1) * LANES, h.dtype)
    for i in range(first, last):
        if i < readable:
            _draw_weights(weights[1][i], labels[1][i], loop_draws, lanes, U(0), end)
        t = _LANES
        for q in range(offsets[i], offsets[i + _ONE]):
            if U(columns[q]) < readable:
                _draw_weights(weights[0][q], labels[0][q], edge_draws, lanes, t, end)
            t += _LANES
        state = splat(h.dtype.type(0))
        if i < readable:
            state = multiply(load(lanes, U(0)), load(h, i * _LANES))
        t = _LANES
        for q in range(offsets[i], offsets[i + _ONE]):
            if U(columns[q]) < readable:
                state = multiply_add(load(lanes, t), load(h, U(columns[q]) * _LANES), state)
            t += _LANES
        store(out, i * _LANES, state)


@inline
def _reversed_edges(operands: Any, _r: Any, first: Any, last: Any) -> None:
    """The weights and labels of the edges (j, i) at the places first..last of the edges (i, j)."""
    reverse, weights, labels, new_weights, new_labels = operands
    for q in range(first, last):
        new_weights[q] = weights[U(reverse[q])]
        new_labels[q] = U32(labels[U(reverse[q])])


def _sums(
    propagation: Propagation,
    graph: Graph,
    edges: tuple[NDArray[Any], NDArray[Any]],
    drop: EntryDropout,
    h: Tensor,
    rows: int,
) -> Tensor:
    """The first rows' sums over the edges of `graph`, which have these weights and labels."""
    replicas, readable, d = h.shape
    lines = as_blocks(h)
    blocks = len(lines)
    _, out = new_lines(blocks, rows, LANES, h.dtype)
    replica = replica_of_lane(replicas, d)

    def by_lane(at: DropoutAt) -> tuple[Any, ...]:
        keys, thresholds, scales = at.arrays
        return keys[replica], thresholds[replica], scales[replica], int(at.epoch)

    operands = (
        *graph.arrays[:2],
        (edges[0], propagation.loop_weights.numpy()),
        (edges[1], drop.node_ids.numpy()),
        (by_lane(drop.edges), by_lane(drop.loops)),
        lines,
        (readable, LANES, graph.longest_row),
        out,
    )
    run_by_rows(_sum_rows, operands, blocks, rows, 2 * blocks * (graph.edges + rows))
    return from_blocks(out, h, rows)


def forward(
    propagation: Propagation, h: Tensor, rows: int, drop: EntryDropout
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """dropout(P) h at the first `rows` nodes [R, rows, d]; the backward pass draws it again."""
    edges = (propagation.edge_weights.numpy(), drop.edge_ids.numpy())
    return _sums(propagation, propagation.graph, edges, drop, h, rows), ()


def backward(
    propagation: Propagation,
    drop: EntryDropout,
    _drawn: tuple[Tensor, ...],
    gradient: Tensor,
    n: int,
) -> Tensor:
    """dropout(P)^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
    graph = propagation.graph.around(gradient.shape[1])
    # All at once: edge by edge, each block of replicas would look for them in memory again.
    weights = np.empty(graph.edges, propagation.edge_weights.numpy().dtype)
    labels = np.empty(graph.edges, np.uint32)
    sources = (propagation.edge_weights.numpy(), drop.edge_ids.numpy())
    operands = (graph.reverse_places, *sources, weights, labels)
    run_by_rows(_reversed_edges, operands, 1, graph.edges, graph.edges // 4)
    dh = _sums(propagation, graph, (weights, labels), drop, gradient, graph.nodes)
    # Rows of the states beyond those have no part in the sums.
    return dh if graph.nodes == n else torch.nn.functional.pad(dh, (0, 0, 0, n - graph.nodes))
