"""The part of a graph that some rows depend on: exact pruning, hop by hop."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph.graph import Graph


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """What the outputs at some target rows depend on after up to `hops` propagation layers.

    The nodes are relabelled by their distance from the targets, so the nodes within k hops are
    the first `sizes[k]` rows. A layer with k layers after it computes only the first `sizes[k]`
    rows and reads the first `sizes[k + 1]`: the same numbers as on the whole graph, for less.
    Edges between two nodes of the outermost ring are left out: no layer reads them.
    """

    graph: Graph  # the nodes of the field, relabelled
    nodes: Tensor  # [sizes[-1]] int64, their labels in the whole graph
    kept_edges: Tensor | None  # [m'] int64, where each edge stands in the whole graph; None: there
    sizes: tuple[int, ...]  # hops + 1 of them, from the targets outwards

    @property
    def hops(self) -> int:
        """The number of propagation layers the field is deep enough for."""
        return len(self.sizes) - 1

    @property
    def edge_ids(self) -> Tensor:
        """Where each edge stands in the whole graph; [m'] int64."""
        if self.kept_edges is None:
            return torch.arange(self.graph.edges, device=self.graph.device)
        return self.kept_edges

    @property
    def targets(self) -> Tensor:
        """The target rows' labels in the whole graph, ascending."""
        return self.nodes[: self.sizes[0]]

    def rows_of(self, nodes: Tensor) -> Tensor:
        """The rows of target `nodes` in this field; any shape."""
        rows = torch.searchsorted(self.targets, nodes)
        found = self.targets[rows.clamp(max=self.sizes[0] - 1)]
        if not torch.equal(found, nodes):
            raise InputError("`nodes` must be targets of this receptive field.")
        return rows

    @classmethod
    def whole(cls, graph: Graph, hops: int) -> ReceptiveField:
        """The field in which every node is a target: nothing is pruned."""
        return cls(
            graph=graph,
            nodes=torch.arange(graph.nodes, device=graph.device),
            kept_edges=None,
            sizes=(graph.nodes,) * (hops + 1),
        )

    @classmethod
    def leading(cls, graph: Graph, count: int, hops: int) -> ReceptiveField:
        """The field of the first `count` nodes with nothing pruned but the last layer's rows."""
        if not 0 < count <= graph.nodes:
            raise InputError(f"`count` must be from 1 to {graph.nodes}; got {count}.")
        whole = cls.whole(graph, hops)
        return cls(graph, whole.nodes, None, (count, *whole.sizes[1:]))

    @classmethod
    def around(cls, graph: Graph, targets: Tensor, hops: int) -> ReceptiveField:
        """The field of the given target nodes (any order, repeats allowed)."""
        distance = _distances(graph, targets, hops)
        inside = (distance <= hops).nonzero().squeeze(1)
        nodes = inside[torch.argsort(distance[inside], stable=True)]
        if nodes.numel() == graph.nodes and int(distance.max()) == 0:
            return cls.whole(graph, hops)
        sizes = tuple(int((distance <= k).sum()) for k in range(hops + 1))
        label = torch.full_like(distance, -1)
        label[nodes] = torch.arange(nodes.numel(), device=graph.device)

        i, j = graph.receivers, graph.senders
        # Two nodes are read together when one of them is computed: at least one within hops - 1.
        kept = (torch.minimum(distance[i], distance[j]) < hops) & (distance[i] <= hops)
        kept &= distance[j] <= hops
        edge_ids = kept.nonzero().squeeze(1)
        # Stable: inside a row the senders keep the whole graph's order, and so does every sum.
        edge_ids = edge_ids[torch.argsort(label[i[edge_ids]], stable=True)]
        degrees = torch.bincount(label[i[edge_ids]], minlength=nodes.numel())
        offsets = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=graph.device)
        torch.cumsum(degrees, dim=0, out=offsets[1:])
        pruned = Graph(offsets, label[j[edge_ids]].to(torch.int32), order=torch.argsort(nodes))
        return cls(pruned, nodes, edge_ids, sizes)


def _distances(graph: Graph, targets: Tensor, hops: int) -> Tensor:
    """Hops from the nearest target, hops + 1 where it is farther; [n] int64."""
    if targets.numel() == 0:
        raise InputError("a receptive field needs at least one target node.")
    distance = torch.full((graph.nodes,), hops + 1, dtype=torch.int64, device=graph.device)
    distance[targets] = 0
    for hop in range(hops):
        reached = graph.senders[distance[graph.receivers] == hop]
        distance[reached] = distance[reached].clamp(max=hop + 1)
    return distance
