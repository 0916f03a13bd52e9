"""The row operations on a part in compiled CPU code: the loops of whole graphs, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph, Propagation
from agnn.kernels._cosine_attention.numba_rows import (
    BUFFERS,
    backward_rows,
    edge_buffers,
    forward_rows,
)
from agnn.kernels._cosine_attention.numba_rows import norms as row_norms
from agnn.kernels._cosine_attention.numba_rows import slopes as row_slopes
from agnn.kernels._cpu.lines import width_argument, width_of
from agnn.kernels._cpu.simd import LANES, compiled
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces
from agnn.kernels._part_rows import Runs
from agnn.kernels._propagate.numba_cpu import product_rows

U = np.uint64


@compiled
def _attend_units(
    offsets: Any, columns: Any, receivers: Any, starts: Any, ends: Any, h: Any, d: Any,
    beta: Any, facts: Any, longest: Any, out: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the runs of replica `u // pieces`."""
    weights = edge_buffers(1, longest, h)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        for k in range(starts.size * piece // pieces, starts.size * (piece + 1) // pieces):
            forward_rows(
                offsets, columns, receivers, None, h[r], width_of(d), beta[r], facts[r], weights,
                out[r], starts[k], ends[k],
            )  # fmt: skip


@compiled
def _back_units(
    offsets: Any, columns: Any, receivers: Any, starts: Any, ends: Any, h: Any, g: Any,
    rows: Any, d: Any, beta: Any, facts: Any, longest: Any, dh: Any, parts: Any, pieces: Any,
    first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last, as in the forward pass."""
    buffers = edge_buffers(BUFFERS, longest, h)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        for k in range(starts.size * piece // pieces, starts.size * (piece + 1) // pieces):
            backward_rows(
                offsets, columns, receivers, None, h[r], g[r], U(rows), width_of(d), beta[r],
                facts[r], buffers, dh[r], parts[r], starts[k], ends[k],
            )  # fmt: skip


@compiled
def _propagate_units(
    offsets: Any, columns: Any, weights: Any, loops: Any, starts: Any, ends: Any, h: Any, n: Any,
    d: Any, out: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last, as above."""
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        for k in range(starts.size * piece // pieces, starts.size * (piece + 1) // pieces):
            product_rows(
                offsets, columns, weights, loops, h[r], U(n), U(d), out[r], starts[k], ends[k]
            )


@compiled
def _block_sums(parts: Any, bounds: Any, out: Any) -> None:
    for r in range(parts.shape[0]):
        for b in range(bounds.size - 1):
            found = 0.0
            for i in range(bounds[b], bounds[b + 1]):
                found += parts[r, i]
            out[b, r] = found


def width(d: int) -> int:
    """The next multiple of a vector's numbers."""
    return -(-d // LANES) * LANES


def _lines(h: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = h.detach().numpy()
    return array.reshape(array.shape[0], -1)


def norms(h: Tensor, facts: Tensor, first: int, last: int) -> None:
    """1 / |h_i|, 0 for a zero row."""
    d = h.shape[2]
    for line, own in zip(_lines(h), _lines(facts), strict=True):
        row_norms(line, U(d), own, first, last)


def _run(function: Any, arguments: tuple[Any, ...], replicas: int, cost: int) -> None:
    pieces = pieces_of(replicas, cost)
    run_in_pieces(function, (*arguments, pieces), replicas * pieces, cost)


def attend(graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor) -> None:
    """The new states of the rows in `runs`, and their inverse totals into `facts`."""
    arguments = (
        *graph.arrays, runs.starts, runs.ends, _lines(h), width_argument(h.shape[2]),
        beta.detach().numpy(), _lines(facts), graph.longest_row, _lines(out),
    )  # fmt: skip
    _run(_attend_units, arguments, h.shape[0], h.shape[0] * runs.edges)


def slopes(gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
    """g_i . o_i of the first rows."""
    d = gradient.shape[2]
    for g, o, each in zip(_lines(gradient), _lines(out), _lines(facts), strict=True):
        row_slopes(g, o, rows, U(d), each, 0, rows)


def attend_back(
    graph: Graph, h: Tensor, g: Tensor, beta: Tensor, facts: Tensor, runs: Runs,
    dh: Tensor, parts: Tensor,
) -> None:  # fmt: skip
    """The gradient at the rows in `runs`, and their parts of the gradient at beta."""
    arguments = (
        *graph.arrays, runs.starts, runs.ends, _lines(h), _lines(g), h.shape[1],
        width_argument(h.shape[2]), beta.detach().numpy(), _lines(facts), graph.longest_row,
        _lines(dh), parts.numpy(),
    )  # fmt: skip
    _run(_back_units, arguments, h.shape[0], 2 * h.shape[0] * runs.edges)


def propagate(propagation: Propagation, h: Tensor, runs: Runs, out: Tensor) -> None:
    """P h at the rows in `runs`."""
    arguments = (
        *propagation.graph.arrays[:2], propagation.edge_weights.numpy(),
        propagation.loop_weights.numpy(), runs.starts, runs.ends, _lines(h), h.shape[1],
        h.shape[2], _lines(out),
    )  # fmt: skip
    _run(_propagate_units, arguments, h.shape[0], h.shape[0] * runs.edges // 2)


def block_sums(parts: Tensor, bounds: NDArray[np.int64]) -> Tensor:
    """The sums over each block, in the order of the rows."""
    out = torch.empty(bounds.size - 1, parts.shape[0], dtype=torch.float64)
    _block_sums(parts.numpy(), bounds, out.numpy())
    return out
