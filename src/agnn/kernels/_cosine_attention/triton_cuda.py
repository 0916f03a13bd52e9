"""Cosine attention on a GPU. Kept for the backward pass is one number per row."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._cosine_attention.triton_backward import (
    BACKWARD,
    Backward,
    Given,
    Pairs,
    pair_states,
)
from agnn.kernels._cosine_attention.triton_forward import FORWARD, Forward
from agnn.kernels._gpu.launches import choose_tile, states_of, sum_parts, sum_type
from agnn.kernels._gpu.rows import csr_of


def forward(graph: Graph, h: Tensor, beta: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """The new states [R, rows, d], and per row the logarithm of its sum of exp(score) [R, rows]."""
    source = h.detach().contiguous()
    replicas, n, width = h.shape
    out = source.new_empty(replicas, rows, width)
    logs = torch.empty(replicas, rows, dtype=sum_type(h.dtype), device=h.device)
    shape = states_of(width)
    FORWARD.run(
        csr_of(graph, rows, graph.weights_as(logs.dtype)),
        graph.long_rows,
        Forward(source, beta.detach(), out, logs, n, rows),
        shape,
        out=out,
        widths=(1, 1, shape.D),
    )
    return out, logs


def backward(
    graph: Graph, h: Tensor, beta: Tensor, out: Tensor, kept: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients at `h` [R, n, d] and at `beta` [R]."""
    replicas, n, width = h.shape
    rows = out.shape[1]
    source = h.detach().contiguous()
    used = graph.around(rows)
    tile = choose_tile(width, used.nodes, used.edges)
    shape = states_of(width)
    nodes = Pairs(source.new_empty(replicas, n, 2 * width), kept.new_empty(replicas, n, 2), n, rows)
    height = tile.rows * tile.entries
    pair_states[(-(-n // height), replicas)](
        Given(source, gradient.contiguous(), out, kept), nodes, shape, height, num_warps=1
    )
    dh = torch.empty_like(source)
    blocks = -(-n // tile.rows)
    parts = blocks + used.long_rows.count
    of_beta = kept.new_empty(replicas, parts, 1)
    BACKWARD.run(
        csr_of(used, used.nodes, used.weights_as(kept.dtype)),
        used.long_rows,
        Backward(nodes, beta.detach(), dh, of_beta, parts, blocks),
        shape,
        out=dh,
        widths=(shape.D, shape.D, 1),
    )
    return dh, sum_parts(of_beta)[:, 0].to(beta.dtype)
