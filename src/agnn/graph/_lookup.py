"""Edges and nodes around some nodes, found without reading the rest of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

if TYPE_CHECKING:
    from agnn.graph._graph import Graph

_DENSE: Final = 16  # of so many nodes one is found: then all are read once


def row_edges(graph: Graph, rows: Tensor) -> Tensor:
    """Return where the stored edges of the given receivers stand, row after row; [k] int64."""
    starts = graph.offsets[rows]
    lengths = graph.offsets[rows + 1] - starts
    ends = lengths.cumsum(0)
    firsts = torch.repeat_interleave(starts - (ends - lengths), lengths)
    return firsts + torch.arange(firsts.numel(), device=graph.device)


def edge_places(graph: Graph, receivers: Tensor, senders: Tensor) -> Tensor:
    """Return where the edges (receiver, sender) stand, -1 for those that are not there; [k] int64.

    A binary search in each receiver's row, so a hub costs hardly more than any other node. The
    rows must list their senders in ascending order, as those of a whole graph do.
    """
    low = graph.offsets[receivers]
    end = graph.offsets[receivers + 1]
    if not graph.edges or not receivers.numel():
        return torch.full_like(receivers, -1)
    high = end
    last = graph.edges - 1
    for _ in range(int((end - low).max()).bit_length()):
        middle = (low + high) // 2
        is_below = (low < high) & (graph.columns[middle.clamp(max=last)] < senders)
        low = torch.where(is_below, middle + 1, low)
        high = torch.where(is_below, high, middle)
    is_there = (low < end) & (graph.columns[low.clamp(max=last)] == senders)
    return torch.where(is_there, low, -1)


def hop_rings(graph: Graph, targets: Tensor, hops: int) -> list[Tensor]:
    """Return the nodes at 0, 1, ..., `hops` hops from the nearest target; each [k] int64 ascending.

    `targets` may come in any order and twice. A ring beyond the last node is empty.
    """
    ring = torch.unique(targets)
    is_seen = torch.zeros(graph.nodes, dtype=torch.bool, device=graph.device)
    is_seen[ring] = True
    rings = [ring]
    for _ in range(hops):
        ring = _new_ring(graph.columns[row_edges(graph, ring)], is_seen)
        rings.append(ring)
    return rings


def _new_ring(reached: Tensor, is_seen: Tensor) -> Tensor:
    """Return those of the nodes `reached` not seen [n] before, ascending; then they are seen."""
    if reached.numel() > is_seen.numel() // _DENSE:  # sorting them would take longer
        before = is_seen.clone()
        is_seen[reached.to(torch.int64)] = True
        new: Tensor = (is_seen & ~before).nonzero().squeeze(1)
        return new
    ring: Tensor = torch.unique(reached[~is_seen[reached]]).to(torch.int64)
    is_seen[ring] = True
    return ring
