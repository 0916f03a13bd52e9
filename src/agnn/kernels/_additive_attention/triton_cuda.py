"""Additive attention on a GPU: the programs of its two files, over rows, replicas and long rows.

No atomics: every row is written once, and every sum has a fixed order. Kept for the backward pass
are three numbers per row and head, and nothing per edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._additive_attention import triton_backward as backward_programs
from agnn.kernels._additive_attention import triton_forward as forward_programs
from agnn.kernels._dropout import triton_cuda as dropout
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import Tile, choose_tile, sum_type

if TYPE_CHECKING:
    from agnn.kernels._additive_attention import Draws, Vectors
    from agnn.kernels._dropout.stream import DropoutAt

_CHUNK = 256  # rows that a program sums the gradients of the vectors over
_NUMBERS = 1024  # that such a program looks at together


class Kept(NamedTuple):
    """What the backward pass needs of the forward one."""

    values: Tensor  # [R, n, d K]: the states that were summed
    parts: Tensor  # [R, n, 2, K]: every node's share in a score, as receiver and as sender
    logs: Tensor  # [R, rows, K]: the logarithm of each row's sum of exp(score)


def forward(
    graph: Graph, h: Tensor, vectors: Vectors, rows: int, given: Draws
) -> tuple[Tensor, Kept]:
    """The new states [R, rows, d K], and what the backward pass needs."""
    receiving, sending, bias = vectors
    row_ids, drop, value_drop = given
    (replicas, n, width), heads = h.shape, receiving.shape[2]
    source, a, b, start = (_plain(each) for each in (h, receiving, sending, bias))
    parts = torch.empty(replicas, n, 2, heads, dtype=sum_type(h.dtype), device=h.device)
    tile = choose_tile(width, graph.nodes, graph.edges)
    shape = (width, tile.columns // heads, heads)
    height = tile.rows * tile.entries
    forward_programs.scores[(-(-n // height), replicas)](
        source, a, b, parts, n, *shape, height, num_warps=1
    )
    values = source if value_drop is None else dropout.forward(source, row_ids[:n], value_drop)
    kept = Kept(values, parts, parts.new_empty(replicas, rows, heads))
    out = source.new_empty(replicas, rows, width)
    draws = _draws(row_ids, drop)
    forward_programs.forward_rows[(-(-rows // tile.rows), replicas)](
        graph.offsets, graph.columns, values, parts, start, *draws, out, kept.logs, n, rows,
        graph.long_rows.limit, drop is not None, *shape, tile.rows, tile.entries, num_warps=1,
    )  # fmt: skip
    if graph.long_rows.count:
        _forward_long(graph, kept, start, draws, out, drop is not None)
    return out, kept


def _forward_long(
    graph: Graph, kept: Kept, bias: Tensor, draws: tuple[Tensor, ...], out: Tensor, dropped: bool
) -> None:
    """The long rows: segment by segment, then joined."""
    (replicas, n, width), (_, rows, heads), long = (
        kept.values.shape,
        kept.logs.shape,
        graph.long_rows,
    )
    tile = choose_tile(width, 1, long.limit)
    shape = (width, tile.columns // heads, heads)
    sums = kept.logs.new_empty(replicas, long.segments, tile.columns)
    totals, shifts = kept.logs.new_empty(2, replicas, long.segments, heads)
    forward_programs.forward_segment[(long.segments, replicas)](
        long.segment_rows, long.segment_bounds, graph.columns, kept.values, kept.parts, *draws,
        sums, totals, shifts, n, rows, long.segments, dropped, *shape, tile.entries, num_warps=1,
    )  # fmt: skip
    forward_programs.forward_joined[(long.count, replicas)](
        long.rows, long.first, kept.values, kept.parts, bias, *draws, sums, totals, shifts, out,
        kept.logs, n, rows, long.segments, dropped, *shape, num_warps=1,
    )  # fmt: skip


def backward(
    graph: Graph,
    h: Tensor,
    parameters: Vectors,
    out: Tensor,
    kept: Kept,
    given: Draws,
    gradient: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients at `h` [R, n, d K], at the two vectors [R, d, K] and at the bias [R, d K]."""
    receiving, sending, bias = parameters
    row_ids, drop, value_drop = given
    (replicas, n, width), rows, heads = h.shape, out.shape[1], receiving.shape[2]
    g, used = gradient.contiguous(), graph.around(rows)
    tile = choose_tile(width, used.nodes, used.edges)
    pair, facts = _pairs(kept, g, out, _plain(bias), tile)
    dv, pulls = torch.empty_like(kept.values), kept.parts.new_empty(replicas, n, 2, heads)
    draws = _draws(row_ids, drop)
    backward_programs.backward_rows[(-(-n // tile.rows), replicas)](
        used.offsets, used.columns, pair, facts, *draws, dv, pulls, n, used.nodes, rows,
        used.long_rows.limit, drop is not None, width, tile.columns // heads, heads, tile.rows,
        tile.entries, num_warps=1,
    )  # fmt: skip
    if used.long_rows.count:
        _backward_long(used, rows, pair, facts, draws, dv, pulls, drop is not None)
    if value_drop is not None:
        dv = dropout.backward(dv, row_ids[:n], value_drop)
    dh, vectors = _share_gradients(h, receiving, sending, pulls, dv)
    da, db = (each.reshape(receiving.shape).to(h.dtype) for each in vectors.split(width, 1))
    return dh, da, db, summed(g.to(facts.dtype)).to(h.dtype)


def _pairs(kept: Kept, g: Tensor, out: Tensor, bias: Tensor, tile: Tile) -> tuple[Tensor, Tensor]:
    """Values and gradient of every node in one line [R, n, 2 d K], and its facts [R, n, 4, K]."""
    (replicas, n, width), (_, rows, heads) = kept.values.shape, kept.logs.shape
    pair = kept.values.new_empty(replicas, n, 2 * width)
    facts = kept.parts.new_empty(replicas, n, 4, heads)
    height = tile.rows * tile.entries
    backward_programs.pairs[(-(-n // height), replicas)](
        kept.values, g, out, bias, kept.parts, kept.logs, pair, facts, n, rows, width,
        tile.columns // heads, heads, height, num_warps=1,
    )  # fmt: skip
    return pair, facts


def _backward_long(
    used: Graph, rows: int, pair: Tensor, facts: Tensor, draws: tuple[Tensor, ...], dv: Tensor,
    pulls: Tensor, dropped: bool,
) -> None:  # fmt: skip
    """The long rows: segment by segment, then joined."""
    (replicas, n, width), heads, long = dv.shape, pulls.shape[3], used.long_rows
    tile = choose_tile(width, 1, long.limit)
    shape = (width, tile.columns // heads, heads)
    shares = facts.new_empty(replicas, long.segments, 2, heads)
    sums = facts.new_empty(replicas, long.segments, tile.columns)
    backward_programs.backward_segment[(long.segments, replicas)](
        long.segment_rows, long.segment_bounds, used.columns, pair, facts, *draws, shares, sums,
        n, rows, long.segments, dropped, *shape, tile.entries, num_warps=1,
    )  # fmt: skip
    backward_programs.backward_joined[(long.count, replicas)](
        long.rows, long.first, pair, facts, *draws, shares, sums, dv, pulls, n, long.segments,
        dropped, *shape, num_warps=1,
    )  # fmt: skip


def _share_gradients(
    h: Tensor, receiving: Tensor, sending: Tensor, pulls: Tensor, dv: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient at `h` [R, n, d K], and at the two vectors, side by side [R, 2 d K]."""
    (replicas, n, width), heads = h.shape, pulls.shape[3]
    chunks, columns = -(-n // _CHUNK), choose_tile(width, n, n).columns
    dh, parts = torch.empty_like(dv), pulls.new_empty(replicas, chunks, 2 * width)
    backward_programs.share_gradients[(chunks, replicas)](
        _plain(h), _plain(receiving), _plain(sending), pulls, dv, dh, parts, n, chunks, width,
        columns // heads, heads, max(1, min(_CHUNK, _NUMBERS // columns)), _CHUNK,
    )  # fmt: skip
    return dh, summed(parts)


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous()


def _draws(row_ids: Tensor, drop: DropoutAt | None) -> tuple[Tensor, ...]:
    if drop is None:
        return (row_ids,) * 5  # not read
    return row_ids, drop.keys, drop.thresholds, drop.scales, drop.epoch
