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
    before, rings = ring[:0], [ring]
    for _ in range(hops):
        # In an undirected graph a neighbour is at most one ring away.
        near = torch.cat([before, ring])
        found = torch.unique(graph.columns[row_edges(graph, ring)]).to(torch.int64)
        before, ring = ring, found[~torch.isin(found, near)]
        rings.append(ring)
    return rings
