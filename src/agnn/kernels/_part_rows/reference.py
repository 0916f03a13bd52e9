"""The definition of the row operations on a part in plain torch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph, Propagation
from agnn.kernels._part_rows import INVERSE_NORM, INVERSE_TOTAL, SLOPE, Runs


def width(d: int) -> int:
    """As they are."""
    return d


def norms(h: Tensor, facts: Tensor, first: int, last: int) -> None:
    """1 / |h_i|, 0 for a zero row."""
    length = h[:, first:last].norm(dim=2)
    inverse = torch.where(length > 0, 1 / length.where(length > 0, 1.0), 0.0)
    facts[:, first:last, INVERSE_NORM] = inverse


def _edges(graph: Graph, runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of the runs, and receiver and sender of each of their edges."""
    spans = zip(runs.starts.tolist(), runs.ends.tolist(), strict=True)
    rows = torch.cat([torch.zeros(0, dtype=torch.int64), *(torch.arange(*s) for s in spans)])
    is_row = torch.zeros(graph.nodes, dtype=torch.bool, device=graph.device)
    is_row[rows.to(graph.device)] = True
    kept = is_row[graph.receivers]
    return rows.to(graph.device), graph.receivers[kept], graph.senders[kept]


def _weights(h: Tensor, beta: Tensor, facts: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """exp(beta cos - shift) of edges (i, j) [R, k], 1 where row i is zero; and the cosines."""
    inverse = facts[:, :, INVERSE_NORM]
    cosine = inverse[:, i] * inverse[:, j] * (h[:, i] * h[:, j]).sum(-1)
    e = (beta[:, None] * cosine - beta[:, None].clamp(min=0)).exp()
    return torch.where(inverse[:, i] > 0, e, 1.0), cosine


def _own_weights(beta: Tensor, facts: Tensor, rows: Tensor) -> Tensor:
    e = (beta - beta.clamp(min=0)).exp()[:, None]
    return torch.where(facts[:, rows, INVERSE_NORM] > 0, e, 1.0)


def attend(graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor) -> None:
    """o_i = (e_ii h_i + sum of e_ij h_j) / Z_i."""
    rows, i, j = _edges(graph, runs)
    e, _ = _weights(h, beta, facts, i, j)
    own = _own_weights(beta, facts, rows)
    total = h.new_zeros(h.shape[:2])
    state = torch.zeros_like(h)
    total[:, rows] = own
    state[:, rows] = own[..., None] * h[:, rows]
    total.index_add_(1, i, e)
    state.index_add_(1, i, e[..., None] * h[:, j])
    facts[:, rows, INVERSE_TOTAL] = 1 / total[:, rows]
    out[:, rows] = state[:, rows] / total[:, rows, None]


def slopes(gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
    """g_i . o_i."""
    facts[:, :rows, SLOPE] = (gradient[:, :rows] * out[:, :rows]).sum(-1)


def attend_back(
    graph: Graph,
    h: Tensor,
    g: Tensor,
    beta: Tensor,
    facts: Tensor,
    runs: Runs,
    out: tuple[Tensor, Tensor],
) -> None:
    """Row i gathers what its neighbours' rows and its own give it: e_ij = e_ji."""
    dh, parts = out
    rows, i, j = _edges(graph, runs)
    inverse = facts[:, :, 0]
    scale = facts[:, :, 1]
    slope = facts[:, :, 2]
    e, cosine = _weights(h, beta, facts, i, j)
    back, _ = _weights(h, beta, facts, j, i)  # 1 where row j is zero
    pull = ((g[:, i] * h[:, j]).sum(-1) - slope[:, i]) * scale[:, i]
    push = ((g[:, j] * h[:, i]).sum(-1) - slope[:, j]) * scale[:, j]
    is_turned = (inverse[:, i] > 0) & (inverse[:, j] > 0)
    both = torch.where(is_turned, beta[:, None] * e * (pull + push), 0.0)
    unit = h * inverse[..., None]
    turned = torch.zeros_like(h).index_add_(1, i, both[..., None] * unit[:, j])
    along = torch.zeros_like(scale).index_add_(1, i, both * cosine)
    own = _own_weights(beta, facts, rows) * scale[:, rows]
    valued = torch.zeros_like(h)
    valued[:, rows] = own[..., None] * g[:, rows]
    valued.index_add_(1, i, (back * scale[:, j])[..., None] * g[:, j])
    change = (turned - along[..., None] * unit) * inverse[..., None]
    dh[:, rows] = (valued + change)[:, rows]
    of_beta = torch.zeros_like(scale).index_add_(1, i, torch.where(is_turned, e * pull * cosine, 0))
    alone = own * ((g[:, rows] * h[:, rows]).sum(-1) - slope[:, rows])
    of_beta[:, rows] += torch.where(inverse[:, rows] > 0, alone, 0.0)
    parts[:, rows] = of_beta[:, rows]


def propagate(propagation: Propagation, h: Tensor, runs: Runs, out: Tensor) -> None:
    """P_ii h_i + sum of P_ij h_j."""
    graph = propagation.graph
    rows, i, j = _edges(graph, runs)
    kept = torch.isin(graph.receivers, rows)
    total = propagation.loop_weights[: h.shape[1], None] * h
    total.index_add_(1, i, propagation.edge_weights[kept, None] * h[:, j])
    out[:, rows] = total[:, rows]


def block_sums(parts: Tensor, bounds: NDArray[np.int64]) -> Tensor:
    """Block by block."""
    spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return torch.stack([parts[:, first:last].double().sum(1) for first, last in spans])
