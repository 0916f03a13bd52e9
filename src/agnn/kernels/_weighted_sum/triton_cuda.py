"""Weighted sums over neighbours on a GPU: by rows there and back, by edges for the weights.

The graph is undirected: the gradient at the states is the same sum with the weights of the reverse
edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._gpu.launches import Kernel, heads_of, power_of_two, wait_for_inputs
from agnn.kernels._gpu.rows import (
    Operation,
    csr_of,
    entries_of,
    heads_of_rows,
    part_like,
    rows_of,
    store_heads,
)

_NUMBERS = 1024  # of each operand of the edges that one block looks at together


class _Sum(NamedTuple):
    """The operands."""

    h: Tensor  # [R, readable, d K]
    edges: Tensor  # [R, edge_count, K]
    loops: Tensor  # [R, weighed, K]
    out: Tensor  # [R, rows, d K]
    readable: int
    edge_count: int
    weighed: int
    rows: int


class _Known(NamedTuple):
    """Of one replica the states and weights, and the weights that rows give themselves."""

    h: Any
    edges: Any
    loops: Any  # [B, K]


class _Pairs(NamedTuple):
    """The ends of some edges, and what is multiplied there."""

    receivers: Tensor
    senders: Tensor
    h: Tensor  # [R, n, d K]
    g: Tensor  # [R, rows, d K]
    n: int
    rows: int


@triton.jit
def _read(x, rows, SHAPE: tl.constexpr):
    h = x.h + rows.r * x.readable * SHAPE.WIDTH
    edges = x.edges + rows.r * x.edge_count * SHAPE.K
    loops = x.loops + rows.r * x.weighed * SHAPE.K
    is_weighed = rows.present & (rows.i < x.weighed)
    return _Known(h, edges, rows_of(loops, rows.i, is_weighed, SHAPE.K, SHAPE.K))


@triton.jit
def _own(x, rows, known, SHAPE: tl.constexpr):
    """What the rows give themselves: w_ii h_i; [B, F, K]."""
    is_weighed = rows.present & (rows.i < x.weighed)
    return known.loops[:, None, :] * heads_of_rows(known.h, rows.i, is_weighed, SHAPE)


@triton.jit
def _gather(csr, x, rows, known, SHAPE: tl.constexpr, U: tl.constexpr):
    """The sums of some rows [B] over the given edges; [B, F, K]."""
    F: tl.constexpr = SHAPE.F
    K: tl.constexpr = SHAPE.K
    acc = tl.zeros((known.loops.shape[0], U, F, K), known.loops.dtype)
    for k in range(0, tl.max(rows.length, 0), U):
        j, there = entries_of(csr.columns, rows.begin, rows.length, k, U)
        there = there & (j < x.readable)
        place = rows.begin[:, None] + k + tl.arange(0, U)[None, :]
        if csr.weights is not None:  # where the weights of an edge stand, if not in its own place
            place = tl.load(csr.weights + place, mask=there, other=0)
        weight = rows_of(known.edges, place, there, K, K)
        acc += weight[:, :, None, :] * heads_of_rows(known.h, j, there, SHAPE)
    return (tl.sum(acc, 1),)


@triton.jit
def _finish(x, rows, known, sums, SHAPE: tl.constexpr):
    """Write the rows; those that no row reads are zero."""
    is_stored = rows.is_short & (rows.i < x.rows)
    total = sums[0] + _own(x, rows, known, SHAPE)
    store_heads(x.out, rows.r * x.rows + rows.i, total, is_stored, SHAPE.WIDTH)


@triton.jit
def _join(x, rows, known, parts, SHAPE: tl.constexpr):
    sums = _own(x, rows, known, SHAPE)
    for s in range(rows.begin, rows.begin + rows.length):
        sums += part_like(parts[0], s, sums)
    store_heads(x.out, rows.r * x.rows + rows.i, sums, rows.present, SHAPE.WIDTH)


_SUM = Operation("weighted_sum", read=_read, gather=_gather, join=_join, finish=_finish)


@Kernel
def _dots(x, out, count, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """g_i . h_j by head for B edges of one replica."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    q = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    k = tl.arange(0, SHAPE.K)
    there = q < count
    i = tl.load(x.receivers + q, mask=there, other=0).to(tl.int64)
    j = tl.load(x.senders + q, mask=there, other=0).to(tl.int64)
    slopes = heads_of_rows(x.g + r * x.rows * SHAPE.WIDTH, i, there, SHAPE)
    dots = tl.sum(slopes * heads_of_rows(x.h + r * x.n * SHAPE.WIDTH, j, there, SHAPE), 1)
    place = (r * count + q)[:, None] * SHAPE.K + k[None, :]
    tl.store(out + place, dots, mask=there[:, None] & (k < SHAPE.K)[None, :])


def _sum(
    graph: Graph, places: Tensor | None, h: Tensor, edges: Tensor, loops: Tensor, count: int
) -> Tensor:
    """The first `count` rows; edge q has the weights at `places[q]`, or at q.

    Rows of `h` that are not there count as zero, and so do rows beyond those of the graph.
    """
    source, edges, loops = (operand.detach().contiguous() for operand in (h, edges, loops))
    replicas, readable, width = source.shape
    _, weighed, heads = loops.shape
    out = source.new_empty(replicas, count, width)
    _SUM.run(
        csr_of(graph, min(count, graph.nodes), places),
        graph.long_rows,
        _Sum(source, edges, loops, out, readable, edges.shape[1], weighed, count),
        heads_of(width, heads),
        out=out,
        widths=(power_of_two(width),),
    )
    return out


def forward(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
    """The sums at the first rows; [R, rows, d K]."""
    return _sum(graph, None, h, edges, loops, loops.shape[1])


def backward(
    graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
) -> tuple[Tensor, ...]:
    """The gradient at the states and, if `h` is given, the gradients at both kinds of weights."""
    dh = _state_gradient(graph, edges, loops, gradient, n)
    return (dh,) if h is None else (dh, *_weight_gradients(graph, h, gradient, loops.shape[2]))


def _state_gradient(graph: Graph, edges: Tensor, loops: Tensor, gradient: Tensor, n: int) -> Tensor:
    """The gradient at the states for one at the sums; [R, n, d K]."""
    used = graph.around(gradient.shape[1])
    return _sum(used, used.reverse, gradient, edges, loops, n)


def _weight_gradients(
    graph: Graph, h: Tensor, gradient: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients at the weights: by edge [R, m', K], and of the nodes themselves."""
    rows = gradient.shape[1]
    own = torch.arange(rows, device=h.device)
    source = h.detach().contiguous()
    g = gradient.contiguous()
    edges = graph.edges_of(rows)
    return (
        _products(graph.receivers, graph.columns, edges, source, g, heads),
        _products(own, own, rows, source, g, heads),
    )


def _products(
    receivers: Tensor, senders: Tensor, count: int, h: Tensor, g: Tensor, heads: int
) -> Tensor:
    """g_i . h_j by head for the first `count` pairs; [R, count, K]."""
    replicas, n, width = h.shape
    out = h.new_empty(replicas, count, heads)
    height = max(1, _NUMBERS // power_of_two(width))
    if count:
        x = _Pairs(receivers, senders, h, g, n, g.shape[1])
        _dots[(-(-count // height), replicas)](x, out, count, heads_of(width, heads), height)
    return out
