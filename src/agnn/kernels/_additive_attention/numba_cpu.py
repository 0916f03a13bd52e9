"""Additive attention in compiled CPU code: `numba_rows.py`, over replicas and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._additive_attention import SLOPE, Draws, Vectors
from agnn.kernels._additive_attention.numba_rows import (
    BLOCK,
    FACTS,
    add_scores,
    backward_rows,
    forward_rows,
    means,
    row_words,
    scores,
    sums_in_order,
)
from agnn.kernels._cpu.simd import LANES, inline, jit
from agnn.kernels._cpu.threads import as_lines, new_lines, run_by_rows, without_padding
from agnn.kernels._dropout import DropoutAt, numba_cpu as dropout
from agnn.kernels._dropout.numba_cpu import KEEP_ALL, epoch_state
from agnn.kernels._runtime.memory import new_tensor

U = np.uint64
_U32 = np.uint32


@inline
def _draw_of(draws: Any, r: Any, like: Any) -> Any:
    """What replica r draws, as `numba_rows.py` reads it."""
    is_dropped, words, row_ids, thresholds, scales = draws
    s = r if is_dropped else 0
    return is_dropped, words[s], row_ids, thresholds[s], like.dtype.type(scales[s])


@inline
def _forward_rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, h, d, heads, facts, draws, longest, bias, out = operands
    weights = np.empty(max(BLOCK, longest + 1) * LANES, h.dtype)
    layer = (h[r], U(d), heads, h.dtype.type(SLOPE), facts[r], _draw_of(draws, r, h))
    forward_rows(graph, layer, weights, (bias[r], out[r]), begin, end)


@inline
def _backward_rows(operands: Any, r: Any, begin: Any, end: Any) -> None:
    graph, h, d, heads, facts, draws, longest, g, rows, dh, pulls = operands
    buffers = np.empty((4, max(BLOCK, longest + 1) * LANES), h.dtype)
    layer = (h[r], U(d), heads, h.dtype.type(SLOPE), facts[r], _draw_of(draws, r, h))
    backward_rows(graph, layer, (g[r], U(rows)), buffers, (dh[r], pulls[r]), begin, end)


def forward(
    graph: Graph, h: Tensor, vectors: Vectors, rows: int, draws: Draws
) -> tuple[Tensor, tuple[NDArray[Any], Tensor]]:
    """The new states [R, rows, d K]; kept are the facts about every node, and the values."""
    row_ids, drop, value_drop = draws
    lines, d = as_lines(h)
    replicas, n, width = h.shape
    used = graph.around(rows)
    heads = vectors.receiving.shape[2]
    into, outof, start = (_vector(vector) for vector in vectors)
    facts = np.empty((replicas, n * FACTS), lines.dtype)
    for r in range(replicas):
        scores(lines[r], n, U(d), heads, into[r], outof[r], facts[r])
    values = h if value_drop is None else dropout.forward(h, row_ids[:n], value_drop)
    out, out_lines = new_lines(replicas, rows, d, h.dtype)
    operands = (
        used.arrays[:2],
        as_lines(values)[0],
        d,
        _U32(heads),
        facts,
        _draws(row_ids, n, drop),
        used.longest_row,
        start,
        out_lines,
    )
    run_by_rows(_forward_rows, operands, replicas, rows, _cost(replicas, used.edges + rows, d))
    return without_padding(out, width), (facts, values)


def backward(
    graph: Graph,
    h: Tensor,
    vectors: Vectors,
    out: Tensor,
    kept: tuple[NDArray[Any], Tensor],
    draws: Draws,
    gradient: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients at `h` [R, n, d K], at the two vectors [R, d, K] and at the bias [R, d K]."""
    row_ids, drop, value_drop = draws
    facts, values = kept
    replicas, n, width = h.shape
    lines, d = as_lines(h)
    o, _ = as_lines(out)
    g, _ = as_lines(gradient)
    rows = out.shape[1]
    shape = vectors.receiving.shape
    heads = shape[2]
    into, outof, start = (_vector(vector) for vector in vectors)
    used = graph.around(rows)
    reached = used.nodes  # rows of `h` beyond them have no part in the output
    for r in range(replicas):
        means(g[r], o[r], start[r], (rows, reached, U(d)), heads, facts[r])
    dh, dh_lines = new_lines(replicas, n, d, h.dtype)
    if reached < n:
        dh[:, reached:] = 0
    pulls = new_tensor(replicas, reached * 2 * LANES, dtype=h.dtype).numpy()
    operands = (
        used.arrays[:2],
        as_lines(values)[0],
        d,
        _U32(heads),
        facts,
        _draws(row_ids, n, drop),
        used.longest_row,
        g,
        rows,
        dh_lines,
        pulls,
    )
    cost = 3 * _cost(replicas, used.edges + reached, d)
    run_by_rows(_backward_rows, operands, replicas, reached, cost)
    if value_drop is not None:
        # Lines are rows of d columns: the padding draws numbers too, and stays zero.
        dh = dropout.backward(dh, row_ids[:n], value_drop)
        dh_lines = as_lines(dh)[0]
    sums, sum_lines = new_lines(replicas, 3, d, h.dtype)
    for r in range(replicas):
        add_scores(pulls[r], reached, U(d), into[r], outof[r], dh_lines[r])
        sums_in_order(used.summation_order, lines[r], g[r], rows, d, pulls[r], sum_lines[r])
    gradients = without_padding(sums, width)
    return (
        without_padding(dh, width),
        gradients[:, 0].reshape(shape),
        gradients[:, 1].reshape(shape),
        gradients[:, 2].contiguous(),
    )


def _vector(parameter: Tensor) -> NDArray[Any]:
    """A parameter of each replica as one padded line."""
    return as_lines(parameter.reshape(parameter.shape[0], 1, -1))[0]


def _cost(replicas: int, neighbours: int, d: int) -> int:
    return replicas * neighbours * (d // LANES + 3)


def _draws(row_ids: Tensor, n: int, drop: DropoutAt | None) -> tuple[Any, ...]:
    """Whether P is dropped; the receivers' words, the labels, the thresholds and the scales."""
    if drop is None:
        _, thresholds, scales = KEEP_ALL
        return False, np.empty((1, 0), np.uint32), np.empty(0, np.uint32), thresholds, scales
    keys, thresholds, scales = drop.arrays
    labels = row_ids[:n].numpy().astype(np.uint32)
    words = np.empty((len(keys), n), np.uint32)
    epoch = int(drop.epoch)
    for key, out in zip(keys, words, strict=True):
        row_words(labels, key, _epoch(key, epoch), out)
    return True, words, labels, thresholds, scales


@jit
def _epoch(key: Any, epoch: Any) -> Any:
    return epoch_state(key, epoch)
