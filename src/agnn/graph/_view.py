"""What a model reads to compute the rows of some nodes: exact pruning, hop by hop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph._features import Features, SparseFeatures
from agnn.graph._graph import Graph
from agnn.graph._propagation import Propagation

# Edges, both directions counted, from which an order for the cache pays: below, states fit into it.
_WORTH_ORDERING = 2_000_000


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
    kept_edges: Tensor | None  # [m'] int64, edges' indices in the whole graph; None: all
    sizes: tuple[int, ...]  # hops + 1 of them, from the targets outwards

    @property
    def hops(self) -> int:
        """The number of propagation layers the field is deep enough for."""
        return len(self.sizes) - 1

    @cached_property
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
        """Return the rows of target `nodes` in this field; any shape."""
        rows = torch.searchsorted(self.targets, nodes)
        nearest = self.targets[rows.clamp(max=self.sizes[0] - 1)]
        if not torch.equal(nearest, nodes):
            raise InputError("`nodes` must be targets of this receptive field.")
        return rows

    @classmethod
    def whole(cls, graph: Graph, hops: int) -> ReceptiveField:
        """Return the field in which every node is a target: nothing is pruned."""
        return cls(
            graph=graph,
            nodes=torch.arange(graph.nodes, device=graph.device),
            kept_edges=None,
            sizes=(graph.nodes,) * (hops + 1),
        )

    @classmethod
    def leading(cls, graph: Graph, count: int, hops: int) -> ReceptiveField:
        """Return the field of the first `count` nodes, of which only the last layer is pruned."""
        if not 0 < count <= graph.nodes:
            raise InputError(f"`count` must be from 1 to {graph.nodes}; got {count}.")
        field = cls.whole(graph, hops)
        return cls(graph, field.nodes, None, (count, *field.sizes[1:]))

    @classmethod
    def around(
        cls, graph: Graph, targets: Tensor, hops: int, *, is_for_many_passes: bool = False
    ) -> ReceptiveField:
        """Return the field of the given target nodes (any order, repeats allowed) of a whole graph.

        Costs what the field holds, whatever the size of the graph and the degrees of its rim.
        With `is_for_many_passes` the rows of a large graph that lies on the CPU are ordered such
        that neighbours are close in memory, which costs a pass over the whole graph. No result
        depends on that order.
        """
        if targets.numel() == 0:
            raise InputError("a receptive field needs at least one target node.")
        rings = graph.hop_rings(targets, hops)
        if rings[0].numel() == graph.nodes:
            return cls.whole(graph, hops)
        if is_for_many_passes and graph.device.type == "cpu" and graph.edges >= _WORTH_ORDERING:
            rings[1:] = [ring[torch.argsort(graph.near_order[ring])] for ring in rings[1:]]
        nodes = torch.cat(rings)
        sizes = tuple(accumulate(ring.numel() for ring in rings))
        inner = sizes[-2] if hops else 0  # the rows that some layer computes
        # Only the entries of the field's nodes are ever written or read.
        label = torch.empty(graph.nodes, dtype=torch.int64, device=graph.device)
        label[nodes] = torch.arange(nodes.numel(), device=graph.device)

        inner_edges = graph.row_edges(nodes[:inner])
        lengths = graph.degrees[nodes[:inner]]
        columns = label[graph.columns[inner_edges]]
        # The outermost ring is read by the rows inside it: it keeps the edges back to them.
        is_outward = columns >= inner
        rows = torch.repeat_interleave(lengths)[is_outward]
        back = graph.edge_places(nodes[columns[is_outward]], nodes[rows])
        if bool((back < 0).any()):
            raise InputError("`graph` must be whole, its rows ascending; got a pruned one.")
        # Row by row, and inside a row in the whole graph's order, as every sum is.
        order = torch.argsort(back)
        order = order[torch.argsort(columns[is_outward][order], stable=True)]
        back = back[order]
        degrees = torch.bincount(columns[is_outward], minlength=nodes.numel())
        degrees[:inner] = lengths
        offsets = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=graph.device)
        torch.cumsum(degrees, dim=0, out=offsets[1:])
        columns = torch.cat([columns, rows[order]]).to(torch.int32)
        kept_edges = torch.cat([inner_edges, back])
        weights = None if graph.weights is None else graph.weights[kept_edges]
        pruned = Graph(offsets, columns, torch.argsort(nodes), weights)
        return cls(pruned, nodes, kept_edges, sizes)


@dataclass(frozen=True, eq=False)
class View:
    """The features and the part of the graph that the outputs at some nodes depend on."""

    features: Features  # of the field's nodes, in the field's order
    field: ReceptiveField
    # [n'] of the field's nodes in the whole graph: |N(i)|, or with edge weights their sum (float64)
    degrees: Tensor

    @classmethod
    def around(
        cls,
        features: Features,
        graph: Graph,
        nodes: Tensor,
        hops: int,
        *,
        is_for_many_passes: bool = False,
    ) -> View:
        """Return what `hops` propagation layers need for the given nodes, and no more.

        A very large graph is not copied: all its nodes count, or those up to the last given one.
        A view `is_for_many_passes` in training, where preparing the graph for speed pays.
        """
        if not graph.can_prune(graph.edges):
            return cls.leading(features, graph, int(nodes.max()) + 1, hops)
        field = ReceptiveField.around(graph, nodes, hops, is_for_many_passes=is_for_many_passes)
        return cls.of_field(features, graph, field)

    @classmethod
    def of_field(cls, features: Features, graph: Graph, field: ReceptiveField) -> View:
        """Return the features and degrees, in the whole graph, of a field's nodes."""
        return cls(features.select(field.nodes), field, graph.weighted_degrees[field.nodes])

    @classmethod
    def whole(cls, features: Features, graph: Graph, hops: int) -> View:
        """Return all nodes as targets."""
        return cls(features, ReceptiveField.whole(graph, hops), graph.weighted_degrees)

    @classmethod
    def leading(cls, features: Features, graph: Graph, count: int, hops: int) -> View:
        """Return the first `count` nodes as targets, on the graph as it stands.

        Only the last layer leaves rows out.
        """
        return cls(features, ReceptiveField.leading(graph, count, hops), graph.weighted_degrees)

    @cached_property
    def sparse_features(self) -> SparseFeatures:
        """The features for operations that take them entry by entry only."""
        return (
            self.features if isinstance(self.features, SparseFeatures) else self.features.sparse()
        )

    @cached_property
    def symmetric_propagation(self) -> Propagation:
        """The GCN weights, by the degrees of the whole graph, on the field's edges."""
        dtype: torch.dtype = self.features.dtype
        return Propagation.symmetric(self.field.graph, dtype, self.degrees)

    @cached_property
    def mean_propagation(self) -> Propagation:
        """The mean over a node's neighbours, by the degrees of the whole graph."""
        dtype: torch.dtype = self.features.dtype
        return Propagation.neighbour_mean(self.field.graph, dtype, self.degrees)

    @cached_property
    def adjacency_propagation(self) -> Propagation:
        """D^-1/2 A D^-1/2, by the degrees of the whole graph: no node counts itself."""
        dtype: torch.dtype = self.features.dtype
        return Propagation.normalised_adjacency(self.field.graph, dtype, self.degrees)
