"""What a model reads to compute the rows of some nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from agnn.graph._features import Features, SparseFeatures
from agnn.graph._graph import TOO_LARGE_TO_PRUNE, Graph
from agnn.graph._propagation import Propagation, neighbour_mean, normalised_adjacency, symmetric
from agnn.graph._receptive_field import ReceptiveField


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
        if graph.edges > TOO_LARGE_TO_PRUNE:
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
        return symmetric(self.field.graph, dtype, self.degrees)

    @cached_property
    def mean_propagation(self) -> Propagation:
        """The mean over a node's neighbours, by the degrees of the whole graph."""
        dtype: torch.dtype = self.features.dtype
        return neighbour_mean(self.field.graph, dtype, self.degrees)

    @cached_property
    def adjacency_propagation(self) -> Propagation:
        """D^-1/2 A D^-1/2, by the degrees of the whole graph: no node counts itself."""
        dtype: torch.dtype = self.features.dtype
        return normalised_adjacency(self.field.graph, dtype, self.degrees)
