"""Nodes ranked by their distance to an anchor: one hop, two hops, further."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from agnn.graph import Graph


class RankedNodes:
    """Draws anchors i with a neighbour, a node two steps away, and any node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.anchors = graph.degrees.nonzero().squeeze(1)
        self.edges = graph.receivers * graph.nodes + graph.senders  # ascending

    def draw(self, batch: int, source: Generator) -> tuple[Tensor, Tensor]:
        """Nodes [4, batch]: i, one hop from it, two steps from it, any; and which are further.

        The last two may be i or its neighbour by chance: where not, their flag [2, batch] is set.
        """
        picks = torch.randint(self.anchors.numel(), (batch,), generator=source)
        i = self.anchors[picks]
        one = self._neighbour(i, source)
        two = self._neighbour(self._neighbour(i, source), source)
        other = torch.randint(self.graph.nodes, (batch,), generator=source)
        kept = torch.stack([self._is_further(i, two), self._is_further(i, other)])
        return torch.stack([i, one, two, other]), kept

    def _neighbour(self, nodes: Tensor, source: Generator) -> Tensor:
        degrees = self.graph.degrees[nodes]
        steps = (torch.rand(nodes.numel(), generator=source) * degrees).long()
        # Rounding may give the degree itself.
        return self.graph.senders[self.graph.offsets[nodes] + steps.minimum(degrees - 1)]

    def _is_further(self, i: Tensor, j: Tensor) -> Tensor:
        wanted = i * self.graph.nodes + j
        place = torch.searchsorted(self.edges, wanted).clamp_max(self.edges.numel() - 1)
        return (self.edges[place] != wanted) & (i != j)
