"""Weighted sums over neighbours on a GPU: by rows there and back, by edges for the weights.

The graph is undirected: the gradient at the states is the same sum with the weights of the reverse
edges. The sums of a row too long for one program are made segment by segment and joined in order.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._gpu.gather import (
    entries_of,
    heads_of_rows,
    long_row_of_program,
    rows_of,
    rows_of_program,
    segment_of_program,
)
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.tiles import choose_tile, power_of_two, sum_type

_NUMBERS = 1024  # of each operand of the edges that one program looks at together


@triton.jit
def _sums(
    columns, places, h, edges, readable, begin, length, PLACED: tl.constexpr,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, U: tl.constexpr,
    SUM: tl.constexpr,
):  # fmt: skip
    """The sums of some rows [B] over the given edges; [B, F, K]."""
    acc = tl.zeros((B, U, F, K), SUM)
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        there = there & (j < readable)
        place = begin[:, None] + k + tl.arange(0, U)[None, :]
        if PLACED:
            place = tl.load(places + place, mask=there, other=0)
        weight = rows_of(edges, place, there, K, K)
        acc += weight[:, :, None, :] * heads_of_rows(h, j, there, WIDTH, F, K)
    return tl.sum(acc, 1)


@triton.jit
def _own(
    h, loops, i, weighed, WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr
):  # fmt: skip
    """What rows i give themselves: w_ii h_i; [B, F, K]."""
    weight = rows_of(loops, i, weighed, K, K)
    return weight[:, None, :] * heads_of_rows(h, i, weighed, WIDTH, F, K)


@triton.jit
def _store(
    out, sums, r, i, count, present, WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr
):  # fmt: skip
    column = tl.arange(0, F)[:, None] * K + tl.arange(0, K)[None, :]
    place = (r * count + i)[:, None, None] * WIDTH + column[None, :, :]
    tl.store(out + place, sums, mask=present[:, None, None] & (column < WIDTH)[None, :, :])


@Program
def _rows(
    offsets, columns, places, h, edges, loops, out, readable, weighed, edge_count, reached, count,
    LIMIT: tl.constexpr, PLACED: tl.constexpr, WIDTH: tl.constexpr, F: tl.constexpr,
    K: tl.constexpr, B: tl.constexpr, U: tl.constexpr, SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """B rows of one replica; those from `reached` on are zero."""
    wait_for_inputs(EARLY)
    r, i, present, short, begin, length = rows_of_program(offsets, reached, LIMIT, B)
    h += r * readable * WIDTH
    sums = _sums(
        columns, places, h, edges + r * edge_count * K, readable, begin, length, PLACED, WIDTH, F,
        K, B, U, SUM,
    )  # fmt: skip
    sums += _own(h, loops + r * weighed * K, i, present & (i < weighed), WIDTH, F, K)
    _store(out, sums, r, i, count, short & (i < count), WIDTH, F, K)


@Program
def _segment(
    segment_rows, bounds, columns, places, h, edges, parts, readable, edge_count, count, segments,
    PLACED: tl.constexpr, WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, U: tl.constexpr,
    SUM: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The sum of one segment of a long row of one replica."""
    wait_for_inputs(EARLY)
    r, place, i, begin, length = segment_of_program(segment_rows, bounds, segments)
    length = tl.where(i < count, length, 0)  # a row that is not computed has no weights to read
    sums = _sums(
        columns, places, h + r * readable * WIDTH, edges + r * edge_count * K, readable, begin,
        length, PLACED, WIDTH, F, K, 1, U, SUM,
    )  # fmt: skip
    _store(parts, sums, 0, place, segments, place >= 0, F * K, F, K)


@Program
def _joined(
    long_rows, first, h, loops, parts, out, readable, weighed, count, segments,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One long row of one replica from the sums of its segments, in their order."""
    wait_for_inputs(EARLY)
    r, i, begin, end = long_row_of_program(long_rows, first, segments)
    one = tl.arange(0, 1)
    h, loops = h + r * readable * WIDTH, loops + r * weighed * K
    sums = _own(h, loops, i, i < weighed, WIDTH, F, K)
    for s in range(begin, end):
        sums += heads_of_rows(parts, s + one, one == 0, F * K, F, K)
    _store(out, sums, r, i, count, i < count, WIDTH, F, K)


@Program
def _dots(
    receivers, senders, h, g, out, n, rows, edge_count,
    WIDTH: tl.constexpr, F: tl.constexpr, K: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """g_i . h_j by head for B edges of one replica."""
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    q, k = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B), tl.arange(0, K)
    there = q < edge_count
    i = tl.load(receivers + q, mask=there, other=0).to(tl.int64)
    j = tl.load(senders + q, mask=there, other=0).to(tl.int64)
    slopes = heads_of_rows(g + r * rows * WIDTH, i, there, WIDTH, F, K)
    dots = tl.sum(slopes * heads_of_rows(h + r * n * WIDTH, j, there, WIDTH, F, K), 1)
    place = (r * edge_count + q)[:, None] * K + k[None, :]
    tl.store(out + place, dots, mask=there[:, None] & (k < K)[None, :])


def _weighted(
    graph: Graph, places: Tensor | None, h: Tensor, edges: Tensor, loops: Tensor, count: int
) -> Tensor:
    """The first `count` rows; edge q has the weights at `places[q]`, or at q.

    Rows of `h` that are not there count as zero, and so do rows beyond those of the graph.
    """
    source, edges, loops = (each.detach().contiguous() for each in (h, edges, loops))
    (replicas, readable, width), (_, weighed, heads) = source.shape, loops.shape
    exact = tl.float64 if sum_type(h.dtype) == torch.float64 else tl.float32
    out = source.new_empty(replicas, count, width)
    named = graph.columns if places is None else places
    tile = choose_tile(width, graph.nodes, graph.edges)
    shape = (width, tile.columns // heads, heads)
    _rows[(-(-count // tile.rows), replicas)](
        graph.offsets, graph.columns, named, source, edges, loops, out, readable, weighed,
        edges.shape[1], min(count, graph.nodes), count, graph.long_rows.limit, places is not None,
        *shape, tile.rows, tile.entries, exact, num_warps=1,
    )  # fmt: skip
    long = graph.long_rows
    if long.count:
        tile = choose_tile(width, 1, long.limit)
        parts = torch.empty(
            replicas, long.segments, tile.columns, dtype=sum_type(h.dtype), device=h.device
        )
        _segment[(long.segments, replicas)](
            long.segment_rows, long.segment_bounds, graph.columns, named, source, edges, parts,
            readable, edges.shape[1], count, long.segments, places is not None, *shape,
            tile.entries, exact, num_warps=1,
        )  # fmt: skip
        _joined[(long.count, replicas)](
            long.rows, long.first, source, loops, parts, out, readable, weighed, count,
            long.segments, *shape, num_warps=1,
        )  # fmt: skip
    return out


def forward(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
    """The sums at the first rows; [R, rows, d K]."""
    return _weighted(graph, None, h, edges, loops, loops.shape[1])


def backward(
    graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
) -> tuple[Tensor, ...]:
    """The gradient at the states and, if `h` is given, the gradients at both kinds of weights."""
    dh = _state_gradient(graph, edges, loops, gradient, n)
    return (dh,) if h is None else (dh, *_weight_gradients(graph, h, gradient, loops.shape[2]))


def _state_gradient(graph: Graph, edges: Tensor, loops: Tensor, gradient: Tensor, n: int) -> Tensor:
    """The gradient at the states for one at the sums; [R, n, d K]."""
    used = graph.around(gradient.shape[1])
    return _weighted(used, used.reverse, gradient, edges, loops, n)


def _weight_gradients(
    graph: Graph, h: Tensor, gradient: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients at the weights: by edge [R, m', K], and of the nodes themselves."""
    rows = gradient.shape[1]
    own = torch.arange(rows, device=h.device)
    source, g = h.detach().contiguous(), gradient.contiguous()
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
    columns = power_of_two(width)
    height = max(1, _NUMBERS // columns)
    if count:
        _dots[(-(-count // height), replicas)](
            receivers, senders, h, g, out, n, g.shape[1], count, width, columns // heads, heads,
            height,
        )  # fmt: skip
    return out
