"""What a model reads to compute the rows of some nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from agnn.graph.features import FeatureMatrix
from agnn.graph.graph import Graph
from agnn.graph.propagation import Propagation, symmetric
from agnn.graph.receptive_field import ReceptiveField


@dataclass(frozen=True, eq=False)
class View:
    """The features and the part of the graph that the outputs at some nodes depend on."""

    features: FeatureMatrix  # of the field's nodes, in the field's order
    field: ReceptiveField
    whole_graph: Graph

    @classmethod
    def around(cls, features: FeatureMatrix, graph: Graph, nodes: Tensor, hops: int) -> View:
        """What `hops` propagation layers need for the given nodes, and no more."""
        field = ReceptiveField.around(graph, nodes, hops)
        return cls(features.select(field.nodes), field, graph)

    @classmethod
    def whole(cls, features: FeatureMatrix, graph: Graph, hops: int) -> View:
        """All nodes as targets."""
        return cls(features, ReceptiveField.whole(graph, hops), graph)

    @cached_property
    def symmetric_propagation(self) -> Propagation:
        """The GCN weights, by the degrees of the whole graph, on the field's edges."""
        dtype: torch.dtype = self.features.values.dtype
        return symmetric(self.whole_graph, dtype).restrict(self.field)
