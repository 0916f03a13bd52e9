"""Additive attention on a GPU.

Kept for the backward pass are three numbers per row and head, and nothing per edge.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._additive_attention import Draws, Vectors
from agnn.kernels._additive_attention.triton_backward import (
    BACKWARD,
    Backward,
    Given,
    Pairs,
    Shares,
    pair_states,
    share_gradients,
)
from agnn.kernels._additive_attention.triton_forward import FORWARD, Forward, score_shares
from agnn.kernels._dropout import triton_cuda as dropout
from agnn.kernels._dropout.triton_cuda import draw_of
from agnn.kernels._gpu.launches import Heads, Tile, choose_tile, heads_of, sum_parts, sum_type
from agnn.kernels._gpu.rows import csr_of

_CHUNK = 256  # rows that a block sums the gradients of the vectors over
_NUMBERS = 1024  # that such a block looks at together


class Kept(NamedTuple):
    """What the backward pass needs of the forward one."""

    values: Tensor  # [R, n, d K]: the states that were summed
    parts: Tensor  # [R, n, 2, K]: every node's share in a score, as receiver and as sender
    logs: Tensor  # [R, rows, K]: the logarithm of each row's sum of exp(score)


def forward(
    graph: Graph, h: Tensor, vectors: Vectors, rows: int, given: Draws
) -> tuple[Tensor, Kept]:
    """The new states [R, rows, d K], and what the backward pass needs."""
    receiving, sending, bias = (_plain(vector) for vector in vectors)
    row_ids, drop, value_drop = given
    replicas, n, width = h.shape
    heads = receiving.shape[2]
    source = _plain(h)
    parts = torch.empty(replicas, n, 2, heads, dtype=sum_type(h.dtype), device=h.device)
    tile = choose_tile(width, graph.nodes, graph.edges)
    shape = heads_of(width, heads)
    height = tile.rows * tile.entries
    score_shares[(-(-n // height), replicas)](
        source, (receiving, sending), parts, n, shape, height, num_warps=1
    )
    values = source if value_drop is None else dropout.forward(source, row_ids[:n], value_drop)
    kept = Kept(values, parts, parts.new_empty(replicas, rows, heads))
    out = source.new_empty(replicas, rows, width)
    FORWARD.run(
        csr_of(graph, rows),
        graph.long_rows,
        Forward(values, parts, bias, draw_of(row_ids, drop), out, kept.logs, n, rows),
        shape,
        out=out,
        widths=(heads, heads, tile.columns),
    )
    return out, kept


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
    row_ids, drop, value_drop = given
    replicas, n, width = h.shape
    heads = kept.logs.shape[2]
    g = gradient.contiguous()
    used = graph.around(out.shape[1])
    tile = choose_tile(width, used.nodes, used.edges)
    shape = heads_of(width, heads)
    nodes = _pairs(Given(kept.values, g, out, _plain(parameters.bias), *kept[1:]), shape, tile)
    dv = torch.empty_like(kept.values)
    pulls = kept.parts.new_empty(replicas, n, 2, heads)
    BACKWARD.run(
        csr_of(used, used.nodes),
        used.long_rows,
        Backward(nodes, draw_of(row_ids, drop), dv, pulls),
        shape,
        out=dv,
        widths=(heads, heads, tile.columns),
    )
    if value_drop is not None:
        dv = dropout.backward(dv, row_ids[:n], value_drop)
    receiving, sending, _ = (_plain(vector) for vector in parameters)
    dh, vectors = _share_gradients(Shares(_plain(h), receiving, sending, pulls, dv, n), shape)
    da, db = (part.reshape(receiving.shape).to(h.dtype) for part in vectors.split(width, 1))
    return dh, da, db, sum_parts(g.to(pulls.dtype)).to(h.dtype)


def _pairs(given: Given, shape: Heads, tile: Tile) -> Pairs:
    """Values and gradient of every node in one line [R, n, 2 d K], and its facts [R, n, 4, K]."""
    replicas, n, width = given.states.shape
    nodes = Pairs(
        given.states.new_empty(replicas, n, 2 * width),
        given.parts.new_empty(replicas, n, 4, shape.K),
        n,
        given.out.shape[1],
    )
    height = tile.rows * tile.entries
    pair_states[(-(-n // height), replicas)](given, nodes, shape, height, num_warps=1)
    return nodes


def _share_gradients(x: Shares, shape: Heads) -> tuple[Tensor, Tensor]:
    """The gradient at the states [R, n, d K], and at the two vectors, side by side [R, 2 d K]."""
    replicas = x.h.shape[0]
    chunks = -(-x.n // _CHUNK)
    dh = torch.empty_like(x.dv)
    parts = x.pulls.new_empty(replicas, chunks, 2 * shape.WIDTH)
    at_once = max(1, min(_CHUNK, _NUMBERS // (shape.F * shape.K)))
    share_gradients[(chunks, replicas)](x, dh, parts, shape, at_once, _CHUNK)
    return dh, sum_parts(parts)


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous()
