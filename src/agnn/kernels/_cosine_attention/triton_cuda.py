"""Cosine attention on a GPU: the programs of its two files, over rows, replicas and long rows.

No atomics: every row is written once, and every sum has a fixed order. Kept for the backward pass
is one number per row.
"""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cosine_attention import triton_backward as backward_programs
from agnn.kernels._cosine_attention import triton_forward as forward_programs
from agnn.kernels._gpu.sums import summed
from agnn.kernels._gpu.tiles import choose_tile, sum_type


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """The new states [R, rows, d], and per row the logarithm of its sum of exp(score) [R, rows]."""
    source, betas = h.detach().contiguous(), beta.detach()
    replicas, n, width = h.shape
    out = source.new_empty(replicas, rows, width)
    logs = torch.empty(replicas, rows, dtype=sum_type(h.dtype), device=h.device)
    tile = choose_tile(width, graph.nodes, graph.edges)
    grid = (-(-rows // tile.rows), replicas)
    forward_programs.forward_rows[grid](
        graph.offsets, graph.columns, graph.weights_as(logs.dtype), source, betas, out, logs, n,
        rows, graph.long_rows.limit, width, tile.columns, tile.rows, tile.entries, num_warps=1,
    )  # fmt: skip
    if graph.long_rows.count:
        _forward_long(graph, source, betas, out, logs)
    return out, logs


def _forward_long(graph: Graph, h: Tensor, beta: Tensor, out: Tensor, logs: Tensor) -> None:
    """The long rows: segment by segment, then joined."""
    (replicas, n, width), rows = h.shape, out.shape[1]
    long = graph.long_rows
    tile = choose_tile(width, 1, long.limit)
    sums = logs.new_empty(replicas, long.segments, tile.columns)
    totals, shifts = logs.new_empty(2, replicas, long.segments)
    forward_programs.forward_segment[(long.segments, replicas)](
        long.segment_rows, long.segment_bounds, graph.columns, graph.weights_as(logs.dtype), h,
        beta, sums, totals, shifts, n, rows, long.segments, width, tile.columns, tile.entries,
        num_warps=1,
    )  # fmt: skip
    forward_programs.forward_joined[(long.count, replicas)](
        long.rows, long.first, h, beta, sums, totals, shifts, out, logs, n, rows, long.segments,
        width, tile.columns, num_warps=1,
    )  # fmt: skip


def backward(
    graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients at `h` [R, n, d] and at `beta` [R]."""
    (replicas, n, width), rows = h.shape, out.shape[1]
    source, g, betas = h.detach().contiguous(), gradient.contiguous(), beta.detach()
    used = graph.around(rows)
    tile = choose_tile(width, used.nodes, used.edges)
    pair = source.new_empty(replicas, n, 2 * width)
    facts = kept.new_empty(replicas, n, 2)
    height = tile.rows * tile.entries
    backward_programs.pairs[(-(-n // height), replicas)](
        source, g, out, kept, pair, facts, n, rows, width, tile.columns, height, num_warps=1
    )
    dh = torch.empty_like(source)
    blocks, long = -(-n // tile.rows), used.long_rows
    parts = kept.new_empty(replicas, blocks + long.count, 1)
    backward_programs.backward_rows[(blocks, replicas)](
        used.offsets, used.columns, used.weights_as(kept.dtype), pair, facts, betas, dh, parts, n,
        used.nodes, rows, parts.shape[1], long.limit, width, tile.columns, tile.rows,
        tile.entries, num_warps=1,
    )  # fmt: skip
    if long.count:
        _backward_long(used, rows, pair, facts, betas, dh, parts)
    return dh, summed(parts)[:, 0].to(beta.dtype)


def _backward_long(
    used: Graph, rows: int, pair: Tensor, facts: Tensor, beta: Tensor, dh: Tensor, parts: Tensor
) -> None:
    """The long rows: segment by segment, then joined."""
    replicas, n, width = dh.shape
    long = used.long_rows
    tile = choose_tile(width, 1, long.limit)
    turns, values = facts.new_empty(2, replicas, long.segments, tile.columns)
    of_betas = facts.new_empty(replicas, long.segments)
    backward_programs.backward_segment[(long.segments, replicas)](
        long.segment_rows, long.segment_bounds, used.columns, used.weights_as(facts.dtype), pair,
        facts, beta, turns, values, of_betas, n, rows, long.segments, width, tile.columns,
        tile.entries, num_warps=1,
    )  # fmt: skip
    backward_programs.backward_joined[(long.count, replicas)](
        long.rows, long.first, pair, facts, beta, turns, values, of_betas, dh, parts, n,
        long.segments, parts.shape[1], parts.shape[1] - long.count, width, tile.columns,
        num_warps=1,
    )  # fmt: skip
