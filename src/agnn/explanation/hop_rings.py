"""The nodes around a node, hop by hop, without a look at the rest of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.graph import Graph


def hop_rings(graph: Graph, node: int, hops: int) -> list[Tensor]:
    """The nodes at 0, 1, ..., `hops` hops from `node`, each [k] int64 ascending, maybe empty."""
    before, ring = torch.empty(0, dtype=torch.int64), torch.tensor([node])
    rings = [ring]
    for _ in range(hops):
        # In an undirected graph a neighbour is at most one ring away.
        near = torch.cat([before, ring])
        found = torch.unique(graph.senders[row_edges(graph, ring)])
        before, ring = ring, found[~torch.isin(found, near)]
        rings.append(ring)
    return rings


def row_edges(graph: Graph, rows: Tensor) -> Tensor:
    """Where the stored edges of the given receivers stand, row after row; [k] int64."""
    lengths = graph.degrees[rows]
    ends = lengths.cumsum(0)
    starts = torch.repeat_interleave(graph.offsets[rows] - (ends - lengths), lengths)
    return starts + torch.arange(starts.numel())
