"""The row operations on a part on a GPU.

A block has a few rows, or a single one where a row is long. The order of a row's sum depends on
its own entries alone, so its bits are the same whatever rows stand beside it: tiles are fixed,
where those of whole graphs are chosen by the size of the graph.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cosine_attention.triton_forward import weights_of
from agnn.kernels._gpu.launches import Kernel, states_of, wait_for_inputs
from agnn.kernels._gpu.rows import Rows, bounds_of, csr_of, entries_of, rows_of, store_rows
from agnn.kernels._part_rows import FACTS, Matrices, Runs, block_sums as block_sums, width as width

_NUMBERS: Final = 256  # of each operand that one warp holds
_ENTRIES: Final = 4  # of a row at a time
_WARPS: Final = 8  # that share a long row
_LINE = tl.constexpr(FACTS)


class _Layer(NamedTuple):
    """The operands of attention."""

    h: Tensor  # [R, n, d]
    betas: Tensor  # [R]
    facts: Tensor  # [R, n, FACTS]
    n: int


class _Slopes(NamedTuple):
    """What the backward pass reads besides, and where it writes."""

    g: Tensor  # [R, n, d]
    dh: Tensor  # [R, n, d]
    of_beta: Tensor  # [R, own rows]
    own_rows: int


@triton.jit
def _facts_of(facts, i, present, WHICH: tl.constexpr):
    """One of the numbers that are known of rows `i`, of any shape."""
    return tl.load(facts + i * _LINE + WHICH, mask=present, other=0.0)


@triton.jit
def _rows_of_block(csr, rows, B: tl.constexpr):
    """The rows of a block as a `Rows`: the next B of the given ones."""
    k = tl.program_id(0) * B + tl.arange(0, B)
    present = k < csr.rows
    i = tl.load(rows + k, mask=present, other=0)
    begin, length = bounds_of(csr.offsets, i, present)
    return Rows(tl.program_id(1).to(tl.int64), i, present, present, begin, length)


@Kernel
def _norms(h, facts, span, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """The inverse lengths of rows; `span` is the first, the end, and how many rows there are."""
    wait_for_inputs(EARLY)
    first, last, n = span
    r = tl.program_id(1).to(tl.int64)
    i = first + tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    present = i < last
    hi = rows_of(h + r * n * SHAPE.WIDTH, i, present, SHAPE.WIDTH, SHAPE.D)
    square = tl.sum(hi * hi, 1)
    inverse = tl.where(square > 0, 1.0 / tl.sqrt(tl.where(square > 0, square, 1.0)), 0.0)
    tl.store(facts + (r * n + i) * _LINE, inverse, mask=present)


@Kernel
def _slopes(pair, facts, span, SHAPE: tl.constexpr, B: tl.constexpr, EARLY: tl.constexpr):
    """The products g . o of rows; `pair` is g and o, `span` as above."""
    wait_for_inputs(EARLY)
    _, last, n = span
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    present = i < last
    gi = rows_of(pair[0] + r * n * SHAPE.WIDTH, i, present, SHAPE.WIDTH, SHAPE.D)
    oi = rows_of(pair[1] + r * n * SHAPE.WIDTH, i, present, SHAPE.WIDTH, SHAPE.D)
    tl.store(facts + (r * n + i) * _LINE + 2, tl.sum(gi * oi, 1), mask=present)


@Kernel
def _attend(csr, rows, x, SHAPE: tl.constexpr, TILE: tl.constexpr, EARLY: tl.constexpr):
    """o_i = (e_ii h_i + sum of e_ij h_j) / Z_i for some rows of one replica."""
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    D: tl.constexpr = SHAPE.D
    U: tl.constexpr = TILE[1]
    layer, out = x
    rows = _rows_of_block(csr, rows, TILE[0])
    h = layer.h + rows.r * layer.n * WIDTH
    facts = layer.facts + rows.r * layer.n * _LINE
    beta = tl.load(layer.betas + rows.r)
    shift = tl.maximum(beta, 0.0)
    hi = rows_of(h, rows.i, rows.present, WIDTH, D)
    ri = _facts_of(facts, rows.i, rows.present, 0)
    acc = tl.zeros((hi.shape[0], U, D), hi.dtype)
    total = tl.zeros((hi.shape[0], U), hi.dtype)
    for k in range(0, tl.max(rows.length, 0), U):
        j, there = entries_of(csr.columns, rows.begin, rows.length, k, U)
        hj = rows_of(h, j, there, WIDTH, D)
        rj = _facts_of(facts, j, there, 0)
        cosine = ri[:, None] * rj * tl.sum(hi[:, None, :] * hj, 2)
        e = tl.where((ri > 0)[:, None], tl.exp(beta * cosine - shift), 1.0)
        e = tl.where(there, e, 0.0)
        if csr.weights is not None:
            e *= weights_of(csr.weights, rows.begin, k, there, U)
        total += e
        acc += e[:, :, None] * hj
    own = tl.where(ri > 0, tl.exp(beta - shift), 1.0)
    inverse = 1.0 / (tl.sum(total, 1) + own)
    state = (tl.sum(acc, 1) + own[:, None] * hi) * inverse[:, None]
    store_rows(out, rows.r * layer.n + rows.i, state, rows.present, WIDTH)
    tl.store(facts + rows.i * _LINE + 1, inverse, mask=rows.present)


@Kernel
def _attend_back(csr, rows, x, SHAPE: tl.constexpr, TILE: tl.constexpr, EARLY: tl.constexpr):
    """The gradient at some rows of one replica, and their parts of the gradient at beta."""
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    D: tl.constexpr = SHAPE.D
    U: tl.constexpr = TILE[1]
    layer, slopes = x
    rows = _rows_of_block(csr, rows, TILE[0])
    i = rows.i
    h = layer.h + rows.r * layer.n * WIDTH
    g = slopes.g + rows.r * layer.n * WIDTH
    facts = layer.facts + rows.r * layer.n * _LINE
    beta = tl.load(layer.betas + rows.r)
    shift = tl.maximum(beta, 0.0)
    hi = rows_of(h, i, rows.present, WIDTH, D)
    gi = rows_of(g, i, rows.present, WIDTH, D)
    ri = _facts_of(facts, i, rows.present, 0)
    scale_i = _facts_of(facts, i, rows.present, 1)
    slope_i = _facts_of(facts, i, rows.present, 2)
    turned = tl.zeros((hi.shape[0], U, D), hi.dtype)
    valued = tl.zeros((hi.shape[0], U, D), hi.dtype)
    along = tl.zeros((hi.shape[0], U), hi.dtype)
    of_beta = tl.zeros((hi.shape[0], U), hi.dtype)
    for k in range(0, tl.max(rows.length, 0), U):
        j, there = entries_of(csr.columns, rows.begin, rows.length, k, U)
        hj = rows_of(h, j, there, WIDTH, D)
        gj = rows_of(g, j, there, WIDTH, D)
        rj = _facts_of(facts, j, there, 0)
        scale_j = _facts_of(facts, j, there, 1)
        cosine = ri[:, None] * rj * tl.sum(hi[:, None, :] * hj, 2)
        e = tl.exp(beta * cosine - shift)
        pull = (tl.sum(gi[:, None, :] * hj, 2) - slope_i[:, None]) * scale_i[:, None]
        push = (tl.sum(gj * hi[:, None, :], 2) - _facts_of(facts, j, there, 2)) * scale_j
        is_turned = (ri > 0)[:, None] & (rj > 0)
        given = tl.where(rj > 0, e, 1.0)
        if csr.weights is not None:
            w = weights_of(csr.weights, rows.begin, k, there, U)
            e *= w
            given *= w
        both = tl.where(is_turned, beta * e * (pull + push), 0.0)
        of_beta += tl.where(is_turned, e * pull * cosine, 0.0)
        along += both * cosine
        turned += (both * rj)[:, :, None] * hj
        valued += (given * scale_j)[:, :, None] * gj
    own = tl.where(ri > 0, tl.exp(beta - shift), 1.0) * scale_i
    turn = tl.sum(turned, 1) - (tl.sum(along, 1) * ri)[:, None] * hi
    gradient = tl.sum(valued, 1) + own[:, None] * gi + turn * ri[:, None]
    alone = own * (tl.sum(gi * hi, 1) - slope_i)
    part = tl.sum(of_beta, 1) + tl.where(ri > 0, alone, 0.0)
    store_rows(slopes.dh, rows.r * layer.n + i, gradient, rows.present, WIDTH)
    tl.store(slopes.of_beta + rows.r * slopes.own_rows + i, part, mask=rows.present)


@Kernel
def _propagate(csr, rows, x, SHAPE: tl.constexpr, TILE: tl.constexpr, EARLY: tl.constexpr):
    """P_ii h_i + sum of P_ij h_j for some rows of one replica."""
    wait_for_inputs(EARLY)
    WIDTH: tl.constexpr = SHAPE.WIDTH
    D: tl.constexpr = SHAPE.D
    U: tl.constexpr = TILE[1]
    source, loops, stride, n, out = x  # `stride`: of the weights and the loops from one replica on
    rows = _rows_of_block(csr, rows, TILE[0])
    h = source + rows.r * n * WIDTH
    hi = rows_of(h, rows.i, rows.present, WIDTH, D)
    acc = tl.zeros((hi.shape[0], U, D), hi.dtype)
    for k in range(0, tl.max(rows.length, 0), U):
        j, there = entries_of(csr.columns, rows.begin, rows.length, k, U)
        place = rows.r * stride[0] + rows.begin[:, None] + k + tl.arange(0, U)[None, :]
        weight = tl.load(csr.weights + place, mask=there, other=0.0)
        acc += weight[:, :, None] * rows_of(h, j, there, WIDTH, D)
    own = tl.load(loops + rows.r * stride[1] + rows.i, mask=rows.present, other=0.0)
    state = tl.sum(acc, 1) + own[:, None] * hi
    store_rows(out, rows.r * n + rows.i, state, rows.present, WIDTH)


def _launch_over(
    kernel: Kernel, graph: Graph, runs: Runs, x: tuple[Any, ...], weights: Tensor | None = None
) -> None:
    """Launch a kernel over the rows of `runs`: several short ones a block, or one long one.

    The states [R, n, d] are the first of the operands `x`, or the first of its first.
    """
    h = x[0][0] if isinstance(x[0], tuple) else x[0]
    replicas, _, d = h.shape
    shape = states_of(d)
    short, long = runs.on(h.device)
    tile = (max(1, _NUMBERS // shape.D // _ENTRIES), _ENTRIES)
    wide_tile = (1, max(1, _WARPS * _NUMBERS // shape.D))
    for rows, cut, warps in ((short, tile, 1), (long, wide_tile, _WARPS)):
        if len(rows):
            csr = csr_of(graph, len(rows), weights)
            grid = (-(-len(rows) // cut[0]), replicas)
            kernel[grid](csr, rows, x, shape, cut, num_warps=warps)


def norms(h: Tensor, facts: Tensor, first: int, last: int) -> None:
    """1 / |h_i|, 0 for a zero row."""
    _launch_by_row(_norms, h, h, facts, (first, last, h.shape[1]))


def slopes(gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
    """g_i . o_i of the first rows."""
    _launch_by_row(_slopes, gradient, (gradient, out), facts, (0, rows, gradient.shape[1]))


def _launch_by_row(
    kernel: Kernel, h: Tensor, operand: Any, facts: Tensor, span: tuple[int, int, int]
) -> None:
    """Launch a kernel over consecutive rows."""
    count = span[1] - span[0]
    if count:
        shape = states_of(h.shape[2])
        height = max(1, _NUMBERS // shape.D)
        grid = (-(-count // height), len(h))
        kernel[grid](operand, facts, span, shape, height, num_warps=1)


def attend(graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor) -> None:
    """The new states of the rows in `runs`, and their inverse totals into `facts`."""
    layer = _Layer(h, beta.detach(), facts, h.shape[1])
    _launch_over(_attend, graph, runs, (layer, out), graph.weights_as(h.dtype))


def attend_back(
    graph: Graph,
    h: Tensor,
    g: Tensor,
    beta: Tensor,
    facts: Tensor,
    runs: Runs,
    out: tuple[Tensor, Tensor],
) -> None:
    """The gradient at the rows in `runs`, and their parts of the gradient at beta."""
    dh, parts = out
    layer = _Layer(h, beta.detach(), facts, h.shape[1])
    x = (layer, _Slopes(g, dh, parts, parts.shape[1]))
    _launch_over(_attend_back, graph, runs, x, graph.weights_as(h.dtype))


def propagate(matrices: Matrices, h: Tensor, runs: Runs, out: Tensor) -> None:
    """P h at the rows in `runs`."""
    graph, edges, loops = matrices
    is_by_replica = len(edges) > 1
    stride = (edges.shape[1] * is_by_replica, loops.shape[1] * is_by_replica)
    x = (h, loops.contiguous(), stride, h.shape[1], out)
    _launch_over(_propagate, graph, runs, x, edges.contiguous())
