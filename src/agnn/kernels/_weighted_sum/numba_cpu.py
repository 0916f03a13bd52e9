"""Weighted sums over neighbours in compiled CPU code.

The heads of an edge fill the 16 lanes of one vector, over and over (`heads.py`). Each row of the
gradient at the states is summed by its owner: the graph is undirected, so the nodes that read row i
are its neighbours, and `reverse` says where their weights for it stand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cpu.heads import by_head
from agnn.kernels._cpu.lines import as_lines, new_lines, without_padding
from agnn.kernels._cpu.simd import (
    LANES,
    compiled,
    inlined,
    load,
    multiply,
    multiply_add,
    splat,
    store,
)
from agnn.kernels._cpu.threads import pieces_of, run_in_pieces
from agnn.kernels._runtime.memory import new_tensor

U = np.uint64
_ONE, _LANES = U(1), U(LANES)


@inlined
def _spread(weights: Any, edge: Any, heads: Any, out: Any, t: Any) -> None:
    """The K weights of an edge over and over in 16 lanes."""
    for lane in range(16):
        out[t + U(lane)] = weights[edge * heads + (U(lane) & (heads - _ONE))]


@inlined
def _rows(
    offsets: Any, columns: Any, places: Any, h: Any, readable: Any, d: Any, heads: Any,
    edges: Any, loops: Any, lanes: Any, out: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Rows first..last of the sums; edge q has the weights at `places[q]`.

    Rows of `h` from `readable` on count as zero.
    """
    for i in range(first, last):
        if i < readable:
            _spread(loops, i, heads, lanes, U(0))
        t = _LANES
        for q in range(offsets[i], offsets[i + _ONE]):
            if U(columns[q]) < readable:
                _spread(edges, U(places[q]), heads, lanes, t)
            t += _LANES
        for k in range(U(0), d, _LANES):
            state = splat(h.dtype.type(0))
            if i < readable:
                state = multiply(load(lanes, U(0)), load(h, i * d + k))
            t = _LANES
            for q in range(offsets[i], offsets[i + _ONE]):
                if U(columns[q]) < readable:
                    state = multiply_add(load(lanes, t), load(h, U(columns[q]) * d + k), state)
                t += _LANES
            store(out, i * d + k, state)


@compiled
def _sum_units(
    offsets: Any, columns: Any, places: Any, h: Any, readable: Any, d: Any, heads: Any,
    edges: Any, loops: Any, longest: Any, out: Any, rows: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    lanes = np.empty((longest + 1) * LANES, h.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        begin, end = U(rows * piece // pieces), U(rows * (piece + 1) // pieces)
        _rows(
            offsets, columns, places, h[r], U(readable), U(d), U(heads), edges[r], loops[r],
            lanes, out[r], begin, end,
        )  # fmt: skip


@inlined
def _dot(g: Any, i: Any, h: Any, j: Any, d: Any, heads: Any, lanes: Any, out: Any, at: Any) -> None:
    """g_i . h_j of every head into out[at : at + K]."""
    products = splat(h.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(g, i * d + k), load(h, j * d + k), products)
    store(lanes, U(0), by_head(products, heads))
    for k in range(heads):
        out[at + k] = lanes[k]


@compiled
def _weight_units(
    offsets: Any, columns: Any, h: Any, g: Any, d: Any, heads: Any, dedges: Any, dloops: Any,
    rows: Any, pieces: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    """The gradients at the weights, units as above."""
    lanes = np.empty(LANES, h.dtype)
    for unit in range(first, last):
        r, piece = unit // pieces, unit % pieces
        for i in range(U(rows * piece // pieces), U(rows * (piece + 1) // pieces)):
            _dot(g[r], i, h[r], i, U(d), U(heads), lanes, dloops[r], i * U(heads))
            for q in range(offsets[i], offsets[i + _ONE]):
                j = U(columns[q])
                _dot(g[r], i, h[r], j, U(d), U(heads), lanes, dedges[r], q * U(heads))


def _flat(weights: Tensor) -> NDArray[Any]:
    return weights.detach().contiguous().numpy().reshape(weights.shape[0], -1)


def _sums(graph: Graph, places: Any, h: Tensor, edges: Tensor, loops: Tensor, rows: int) -> Tensor:
    lines, d = as_lines(h)
    replicas, readable, width = h.shape
    cost = replicas * (graph.edges + rows) * (d // LANES + 1)
    pieces = pieces_of(replicas, cost)
    out, made = new_lines(replicas, rows, d, h.dtype)
    arguments = (
        *graph.arrays[:2], places, lines, readable, d, loops.shape[2], _flat(edges), _flat(loops),
        graph.longest_row, made, rows, pieces,
    )  # fmt: skip
    run_in_pieces(_sum_units, arguments, replicas * pieces, cost)
    return without_padding(out, width)


def forward(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
    """The sums at the first rows; [R, rows, d K]."""
    return _sums(graph, graph.places, h, edges, loops, loops.shape[1])


def backward(
    graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
) -> tuple[Tensor, ...]:
    """The gradient at the states and, if `h` is given, the gradients at both kinds of weights."""
    dh = _state_gradient(graph, edges, loops, gradient, n)
    return (dh,) if h is None else (dh, *_weight_gradients(graph, h, gradient, loops.shape[2]))


def _state_gradient(graph: Graph, edges: Tensor, loops: Tensor, gradient: Tensor, n: int) -> Tensor:
    """The gradient at the states for one at the sums; [R, n, d K]."""
    used = graph.around(gradient.shape[1])
    found = _sums(used, used.reverse_places, gradient, edges, loops, used.nodes)
    if used.nodes == n:
        return found
    # Rows of the states beyond those have no part in the sums.
    return torch.nn.functional.pad(found, (0, 0, 0, n - used.nodes))


def _weight_gradients(
    graph: Graph, h: Tensor, gradient: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients at the weights: by edge [R, m', K], and of the nodes themselves."""
    (lines, d), (g, _) = as_lines(h), as_lines(gradient)
    replicas, rows, edges = h.shape[0], gradient.shape[1], graph.edges_of(gradient.shape[1])
    cost = replicas * (edges + rows) * (d // LANES + 1)
    pieces = pieces_of(replicas, cost)
    dedges = new_tensor(replicas, edges, heads, dtype=h.dtype)
    dloops = new_tensor(replicas, rows, heads, dtype=h.dtype)
    found = [each.view(replicas, -1).numpy() for each in (dedges, dloops)]
    arguments = (*graph.arrays[:2], lines, g, d, heads, *found, rows, pieces)
    run_in_pieces(_weight_units, arguments, replicas * pieces, cost)
    return dedges, dloops
