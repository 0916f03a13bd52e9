"""The nodes around some nodes, hop by hop, without a look at the rest of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from agnn.graph.edge_lookup import row_edges

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.graph.graph import Graph


def hop_rings(graph: Graph, targets: Tensor, hops: int) -> list[Tensor]:
    """The nodes at 0, 1, ..., `hops` hops from the nearest target; each [k] int64 ascending.

    `targets` may come in any order and twice. A ring beyond the last node is empty.
    """
    ring = torch.unique(targets)
    is_seen = torch.zeros(graph.nodes, dtype=torch.bool, device=graph.device)
    is_seen[ring] = True
    rings = [ring]
    for _ in range(hops):
        found = graph.columns[row_edges(graph, ring)]
        found = found[~is_seen[found]]
        ring = torch.unique(found).to(torch.int64)
        is_seen[ring] = True
        rings.append(ring)
    return rings
