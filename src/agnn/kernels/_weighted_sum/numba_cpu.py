"""Weighted sums over neighbours in compiled CPU code.

The heads of an edge fill the 16 lanes of one vector, over and over (`by_head` in `simd.py`). Each
row of the gradient at the states is summed by its owner: the graph is undirected, so the nodes that
read row i are its neighbours, and `reverse` says where their weights for it stand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cpu.simd import (
    LANES,
    by_head,
    inline,
    load,
    multiply,
    multiply_add,
    splat,
    store,
)
from agnn.kernels._cpu.threads import as_lines, new_lines, run_by_rows, without_padding
from agnn.kernels._runtime.memory import new_tensor

U = np.uint64
_ONE = U(1)
_LANES = U(LANES)


@inline
def _spread(weights: Any, edge: Any, heads: Any, out: Any, t: Any) -> None:
    """The K weights of an edge over and over in 16 lanes."""
    for lane in range(16):
        out[t + U(lane)] = weights[edge * heads + (U(lane) & (heads - _ONE))]


@inline
def _sum_rows(operands: Any, r: Any, first: Any, last: Any) -> None:
    """Rows first..last of the sums; edge q has the weights at `places[q]`.

    Rows of `h` from `readable` on count as zero.
    """
    graph, states, sizes, weights, longest, sums = operands
    offsets, columns, places = graph
    readable = U(sizes[0])
    d = U(sizes[1])
    heads = U(sizes[2])
    h = states[r]
    edges = weights[0][r]
    loops = weights[1][r]
    out = sums[r]
    lanes = np.empty((longest + 1) * LANES, h.dtype)
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


@inline
def _dot(g: Any, i: Any, h: Any, j: Any, d: Any) -> Any:
    """g_i . h_j, before the sums over each head's lanes."""
    products = splat(h.dtype.type(0))
    for k in range(U(0), d, _LANES):
        products = multiply_add(load(g, i * d + k), load(h, j * d + k), products)
    return products


@inline
def _write_heads(products: Any, heads: Any, lanes: Any, out: Any, place: Any) -> None:
    """The sum of every head into its number of `out` from place K on."""
    store(lanes, U(0), by_head(products, heads))
    for k in range(heads):
        out[place * heads + k] = lanes[k]


@inline
def _weight_rows(operands: Any, r: Any, first: Any, last: Any) -> None:
    """The gradients at the weights of rows first..last."""
    graph, h, g, width, count, dedges, dloops = operands
    offsets, columns = graph
    d = U(width)
    heads = U(count)
    lanes = np.empty(LANES, h.dtype)
    for i in range(first, last):
        _write_heads(_dot(g[r], i, h[r], i, d), heads, lanes, dloops[r], i)
        for q in range(offsets[i], offsets[i + _ONE]):
            products = _dot(g[r], i, h[r], U(columns[q]), d)
            _write_heads(products, heads, lanes, dedges[r], q)


def _flat(weights: Tensor) -> NDArray[Any]:
    return weights.detach().contiguous().numpy().reshape(weights.shape[0], -1)


def _sums(graph: Graph, places: Any, h: Tensor, edges: Tensor, loops: Tensor, rows: int) -> Tensor:
    lines, d = as_lines(h)
    replicas, readable, width = h.shape
    cost = replicas * (graph.edges + rows) * (d // LANES + 1)
    out, out_lines = new_lines(replicas, rows, d, h.dtype)
    operands = (
        (*graph.arrays[:2], places),
        lines,
        (readable, d, loops.shape[2]),
        (_flat(edges), _flat(loops)),
        graph.longest_row,
        out_lines,
    )
    run_by_rows(_sum_rows, operands, replicas, rows, cost)
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
    dh = _sums(used, used.reverse_places, gradient, edges, loops, used.nodes)
    if used.nodes == n:
        return dh
    # Rows of the states beyond those have no part in the sums.
    return torch.nn.functional.pad(dh, (0, 0, 0, n - used.nodes))


def _weight_gradients(
    graph: Graph, h: Tensor, gradient: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients at the weights: by edge [R, m', K], and of the nodes themselves."""
    lines, d = as_lines(h)
    g, _ = as_lines(gradient)
    replicas, rows, _ = gradient.shape
    edges = graph.edges_of(rows)
    cost = replicas * (edges + rows) * (d // LANES + 1)
    dedges = new_tensor(replicas, edges, heads, dtype=h.dtype)
    dloops = new_tensor(replicas, rows, heads, dtype=h.dtype)
    flat = [weights.view(replicas, -1).numpy() for weights in (dedges, dloops)]
    operands = (graph.arrays[:2], lines, g, d, heads, *flat)
    run_by_rows(_weight_rows, operands, replicas, rows, cost)
    return dedges, dloops
