"""Additive attention in compiled CPU code: `numba_rows.py`, over replicas and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
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
from agnn.kernels._additive_attention.reference import SLOPE
from agnn.kernels._cpu.lines import as_lines, new_lines, without_padding
from agnn.kernels._cpu.simd import LANES, compiled
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces
from agnn.kernels._dropout import numba_cpu as dropout
from agnn.kernels._dropout.numba_cpu import KEEP_ALL, epoch_state
from agnn.kernels._runtime.memory import new_tensor

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

U = np.uint64
_U32 = np.uint32


@compiled
def _forward_units(
    offsets: Any, columns: Any, h: Any, d: Any, rows: Any, heads: Any, bias: Any, facts: Any,
    is_dropped: Any, words: Any, row_ids: Any, thresholds: Any, scales: Any, longest: Any,
    out: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    weights = np.empty(max(BLOCK, longest + 1) * LANES, h.dtype)
    slope = h.dtype.type(SLOPE)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(rows * piece // pieces), U(rows * (piece + 1) // pieces)
        s = r if is_dropped else 0
        forward_rows(
            offsets, columns, h[r], U(d), heads, slope, bias[r], facts[r], is_dropped, words[s],
            row_ids, thresholds[s], h.dtype.type(scales[s]), weights, out[r], begin, end,
        )  # fmt: skip


@compiled
def _backward_units(
    offsets: Any, columns: Any, h: Any, g: Any, n: Any, d: Any, rows: Any, heads: Any,
    facts: Any, is_dropped: Any, words: Any, row_ids: Any, thresholds: Any, scales: Any,
    longest: Any, dh: Any, pulls: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last, as in the forward pass."""
    buffers = np.empty((4, max(BLOCK, longest + 1) * LANES), h.dtype)
    slope = h.dtype.type(SLOPE)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(n * piece // pieces), U(n * (piece + 1) // pieces)
        s = r if is_dropped else 0
        backward_rows(
            offsets, columns, h[r], g[r], U(rows), U(d), heads, slope, facts[r], is_dropped,
            words[s], row_ids, thresholds[s], h.dtype.type(scales[s]), buffers, dh[r], pulls[r],
            begin, end,
        )  # fmt: skip


def forward(
    graph: Graph, h: Tensor, receiving: Tensor, sending: Tensor, bias: Tensor, rows: int,
    row_ids: Tensor, drop: DropoutAt | None, value_drop: DropoutAt | None,
) -> tuple[Tensor, tuple[NDArray[Any], Tensor]]:  # fmt: skip
    """The new states [R, rows, d K]; kept are the facts about every node, and the values."""
    lines, d = as_lines(h)
    replicas, n, width = h.shape
    used, heads = graph.around(rows), receiving.shape[2]
    into, outof, start = (_vector(each) for each in (receiving, sending, bias))
    facts = np.empty((replicas, n * FACTS), lines.dtype)
    for r in range(replicas):
        scores(lines[r], n, U(d), heads, into[r], outof[r], facts[r])
    values = h if value_drop is None else dropout.forward(h, row_ids[:n], value_drop)
    cost = _cost(replicas, used.edges + rows, d)
    pieces = pieces_of(replicas, cost)
    out, made = new_lines(replicas, rows, d, h.dtype)
    arguments = (
        *used.arrays[:2], as_lines(values)[0], d, rows, _U32(heads), start, facts,
        *_draws(row_ids, n, drop), used.longest_row, made, pieces,
    )  # fmt: skip
    run_in_pieces(_forward_units, arguments, replicas * pieces, cost)
    return without_padding(out, width), (facts, values)


def backward(
    graph: Graph, h: Tensor, receiving: Tensor, sending: Tensor, bias: Tensor, out: Tensor,
    kept: tuple[NDArray[Any], Tensor], row_ids: Tensor, drop: DropoutAt | None,
    value_drop: DropoutAt | None, gradient: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients at `h` [R, n, d K], at the two vectors [R, d, K] and at the bias [R, d K]."""
    replicas, n, width = h.shape
    (lines, d), (o, _), (g, _) = as_lines(h), as_lines(out), as_lines(gradient)
    rows, heads = out.shape[1], receiving.shape[2]
    into, outof, start = (_vector(each) for each in (receiving, sending, bias))
    (facts, values), used = kept, graph.around(rows)
    reached = used.nodes  # rows of `h` beyond them have no part in the output
    for r in range(replicas):
        means(g[r], o[r], start[r], rows, reached, U(d), heads, facts[r])
    cost = 3 * _cost(replicas, used.edges + reached, d)
    pieces = pieces_of(replicas, cost)
    dh, made = new_lines(replicas, n, d, h.dtype)
    if reached < n:
        dh[:, reached:] = 0
    pulls = new_tensor(replicas, reached * 2 * LANES, dtype=h.dtype).numpy()
    arguments = (
        *used.arrays[:2], as_lines(values)[0], g, reached, d, rows, _U32(heads), facts,
        *_draws(row_ids, n, drop), used.longest_row, made, pulls, pieces,
    )  # fmt: skip
    run_in_pieces(_backward_units, arguments, replicas * pieces, cost)
    if value_drop is not None:
        # Lines are rows of d columns: the padding draws numbers too, and stays zero.
        dh = dropout.backward(dh, row_ids[:n], value_drop)
        made = as_lines(dh)[0]
    found, sums = new_lines(replicas, 3, d, h.dtype)
    for r in range(replicas):
        add_scores(pulls[r], reached, U(d), into[r], outof[r], made[r])
        sums_in_order(used.summation_order, lines[r], g[r], rows, d, pulls[r], sums[r])
    vectors = without_padding(found, width)
    shape = receiving.shape
    return (
        without_padding(dh, width), vectors[:, 0].reshape(shape), vectors[:, 1].reshape(shape),
        vectors[:, 2].contiguous(),
    )  # fmt: skip


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
    words, epoch = np.empty((len(keys), n), np.uint32), int(drop.epoch)
    for key, out in zip(keys, words, strict=True):
        row_words(labels, key, _epoch(key, epoch), out)
    return True, words, labels, thresholds, scales


@compiled
def _epoch(key: Any, epoch: Any) -> Any:
    return epoch_state(key, epoch)
