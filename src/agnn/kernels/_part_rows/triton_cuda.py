"""The row operations on a part on a GPU.

A program has a few rows, or a single one where a row is long. The order of a row's sum depends on
its own entries alone, so its bits are the same whatever rows stand beside it: tiles are fixed,
where those of whole graphs are chosen by the size of the graph.
"""

from __future__ import annotations

from typing import Any, Final

import triton
import triton.language as tl
from torch import Tensor

from agnn.graph import Graph, Propagation
from agnn.kernels._gpu.gather import bounds_of, entries_of, rows_of
from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.tiles import power_of_two
from agnn.kernels._part_rows import FACTS, Runs
from agnn.kernels._part_rows.reference import block_sums, width

__all__ = ["attend", "attend_back", "block_sums", "norms", "propagate", "slopes", "width"]

_NUMBERS: Final = 256  # of each operand that one warp holds
_ENTRIES: Final = 4  # of a row at a time
_WARPS: Final = 8  # that share a long row
_LINE = tl.constexpr(FACTS)


@triton.jit
def _facts_of(facts, i, present, WHICH: tl.constexpr):
    """One of the numbers that are known of rows `i`, of any shape."""
    return tl.load(facts + i * _LINE + WHICH, mask=present, other=0.0)


@triton.jit
def _rows_of_program(rows, count, offsets, B: tl.constexpr):
    """The replica of a program, its rows [B], whether each is there, and its entries."""
    r, k = tl.program_id(1).to(tl.int64), tl.program_id(0) * B + tl.arange(0, B)
    present = k < count
    i = tl.load(rows + k, mask=present, other=0)
    begin, length = bounds_of(offsets, i, present)
    return r, i, present, begin, length


@Program
def _norms(
    h, facts, first, last, n, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i = first + tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    present = i < last
    hi = rows_of(h + r * n * WIDTH, i, present, WIDTH, D)
    square = tl.sum(hi * hi, 1)
    found = tl.where(square > 0, 1.0 / tl.sqrt(tl.where(square > 0, square, 1.0)), 0.0)
    tl.store(facts + (r * n + i) * _LINE, found, mask=present)


@Program
def _slopes(
    g, out, facts, count, n, WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    wait_for_inputs(EARLY)
    r = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    present = i < count
    gi = rows_of(g + r * n * WIDTH, i, present, WIDTH, D)
    oi = rows_of(out + r * n * WIDTH, i, present, WIDTH, D)
    tl.store(facts + (r * n + i) * _LINE + 2, tl.sum(gi * oi, 1), mask=present)


@Program
def _attend(
    rows, count, offsets, columns, h, betas, facts, out, n,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """o_i = (e_ii h_i + sum of e_ij h_j) / Z_i for B rows of one replica."""
    wait_for_inputs(EARLY)
    r, i, present, begin, length = _rows_of_program(rows, count, offsets, B)
    h, facts = h + r * n * WIDTH, facts + r * n * _LINE
    beta = tl.load(betas + r)
    shift = tl.maximum(beta, 0.0)
    hi, ri = rows_of(h, i, present, WIDTH, D), _facts_of(facts, i, present, 0)
    acc = tl.zeros((B, U, D), hi.dtype)
    total = tl.zeros((B, U), hi.dtype)
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        hj, rj = rows_of(h, j, there, WIDTH, D), _facts_of(facts, j, there, 0)
        cosine = ri[:, None] * rj * tl.sum(hi[:, None, :] * hj, 2)
        e = tl.where((ri > 0)[:, None], tl.exp(beta * cosine - shift), 1.0)
        e = tl.where(there, e, 0.0)
        total += e
        acc += e[:, :, None] * hj
    own = tl.where(ri > 0, tl.exp(beta - shift), 1.0)
    inverse = 1.0 / (tl.sum(total, 1) + own)
    state = (tl.sum(acc, 1) + own[:, None] * hi) * inverse[:, None]
    d = tl.arange(0, D)
    inside = present[:, None] & (d < WIDTH)[None, :]
    tl.store(out + (r * n + i)[:, None] * WIDTH + d[None, :], state, mask=inside)
    tl.store(facts + i * _LINE + 1, inverse, mask=present)


@Program
def _attend_back(
    rows, count, offsets, columns, h, g, betas, facts, dh, parts, n, own_rows,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """The gradient at B rows of one replica, and their parts of the gradient at beta."""
    wait_for_inputs(EARLY)
    r, i, present, begin, length = _rows_of_program(rows, count, offsets, B)
    h, g, facts = h + r * n * WIDTH, g + r * n * WIDTH, facts + r * n * _LINE
    beta = tl.load(betas + r)
    shift = tl.maximum(beta, 0.0)
    hi, gi = rows_of(h, i, present, WIDTH, D), rows_of(g, i, present, WIDTH, D)
    ri, scale_i = _facts_of(facts, i, present, 0), _facts_of(facts, i, present, 1)
    slope_i = _facts_of(facts, i, present, 2)
    turned = tl.zeros((B, U, D), hi.dtype)
    valued = tl.zeros((B, U, D), hi.dtype)
    along = tl.zeros((B, U), hi.dtype)
    of_beta = tl.zeros((B, U), hi.dtype)
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        hj, gj = rows_of(h, j, there, WIDTH, D), rows_of(g, j, there, WIDTH, D)
        rj, scale_j = _facts_of(facts, j, there, 0), _facts_of(facts, j, there, 1)
        cosine = ri[:, None] * rj * tl.sum(hi[:, None, :] * hj, 2)
        e = tl.exp(beta * cosine - shift)
        pull = (tl.sum(gi[:, None, :] * hj, 2) - slope_i[:, None]) * scale_i[:, None]
        push = (tl.sum(gj * hi[:, None, :], 2) - _facts_of(facts, j, there, 2)) * scale_j
        is_turned = (ri > 0)[:, None] & (rj > 0)
        both = tl.where(is_turned, beta * e * (pull + push), 0.0)
        of_beta += tl.where(is_turned, e * pull * cosine, 0.0)
        along += both * cosine
        turned += (both * rj)[:, :, None] * hj
        valued += (tl.where(rj > 0, e, 1.0) * scale_j)[:, :, None] * gj
    own = tl.where(ri > 0, tl.exp(beta - shift), 1.0) * scale_i
    turn = tl.sum(turned, 1) - (tl.sum(along, 1) * ri)[:, None] * hi
    gradient = tl.sum(valued, 1) + own[:, None] * gi + turn * ri[:, None]
    alone = own * (tl.sum(gi * hi, 1) - slope_i)
    part = tl.sum(of_beta, 1) + tl.where(ri > 0, alone, 0.0)
    d = tl.arange(0, D)
    inside = present[:, None] & (d < WIDTH)[None, :]
    tl.store(dh + (r * n + i)[:, None] * WIDTH + d[None, :], gradient, mask=inside)
    tl.store(parts + r * own_rows + i, part, mask=present)


@Program
def _propagate(
    rows, count, offsets, columns, weights, loops, h, out, n,
    WIDTH: tl.constexpr, D: tl.constexpr, B: tl.constexpr, U: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """P_ii h_i + sum of P_ij h_j for B rows of one replica."""
    wait_for_inputs(EARLY)
    r, i, present, begin, length = _rows_of_program(rows, count, offsets, B)
    h += r * n * WIDTH
    hi = rows_of(h, i, present, WIDTH, D)
    acc = tl.zeros((B, U, D), hi.dtype)
    for k in range(0, tl.max(length, 0), U):
        j, there = entries_of(columns, begin, length, k, U)
        place = begin[:, None] + k + tl.arange(0, U)[None, :]
        weight = tl.load(weights + place, mask=there, other=0.0)
        acc += weight[:, :, None] * rows_of(h, j, there, WIDTH, D)
    own = tl.load(loops + i, mask=present, other=0.0)
    d = tl.arange(0, D)
    inside = present[:, None] & (d < WIDTH)[None, :]
    place = (r * n + i)[:, None] * WIDTH + d[None, :]
    tl.store(out + place, tl.sum(acc, 1) + own[:, None] * hi, mask=inside)


def _over(program: Any, graph: Graph, runs: Runs, h: Tensor, *operands: Any) -> None:
    """Run a program over the rows of `runs`: several short ones each, or one long one."""
    replicas, _, d = h.shape
    columns = power_of_two(d)
    short, long = runs.on(h.device)
    height, wide = max(1, _NUMBERS // columns // _ENTRIES), max(1, _WARPS * _NUMBERS // columns)
    for rows, tile, warps in ((short, (height, _ENTRIES), 1), (long, (1, wide), _WARPS)):
        if len(rows):
            program[(-(-len(rows) // tile[0]), replicas)](
                rows, len(rows), graph.offsets, graph.columns, *operands, d, columns, *tile,
                num_warps=warps,
            )  # fmt: skip


def _by_row(program: Any, count: int, h: Tensor, *operands: Any) -> None:
    """Run a program over `count` consecutive rows."""
    if count:
        columns = power_of_two(h.shape[2])
        height = max(1, _NUMBERS // columns)
        program[(-(-count // height), len(h))](
            *operands, h.shape[1], h.shape[2], columns, height, num_warps=1
        )


def norms(h: Tensor, facts: Tensor, first: int, last: int) -> None:
    """1 / |h_i|, 0 for a zero row."""
    _by_row(_norms, last - first, h, h, facts, first, last)


def slopes(gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
    """g_i . o_i of the first rows."""
    _by_row(_slopes, rows, gradient, gradient, out, facts, rows)


def attend(graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor) -> None:
    """The new states of the rows in `runs`, and their inverse totals into `facts`."""
    _over(_attend, graph, runs, h, h, beta.detach(), facts, out, h.shape[1])


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
    sizes = h.shape[1], parts.shape[1]
    _over(_attend_back, graph, runs, h, h, g, beta.detach(), facts, dh, parts, *sizes)


def propagate(propagation: Propagation, h: Tensor, runs: Runs, out: Tensor) -> None:
    """P h at the rows in `runs`."""
    weights = propagation.edge_weights, propagation.loop_weights
    _over(_propagate, propagation.graph, runs, h, *weights, h, out, h.shape[1])
