"""node2vec: embeddings by skip-gram on biased random walks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn.data import NodeData
from agnn.graph import Graph, Walks
from agnn.kernels import Descent, negative_skip_gram, random_walks
from agnn.methods._embedding import EmbeddingMethod, Vectors
from agnn.networks import Count, Positive, register


@register
@dataclass(frozen=True)
class Node2Vec(EmbeddingMethod):
    """Skip-gram by negative sampling on second-order walks; defaults of the authors' program."""

    name: ClassVar[str] = "node2vec"
    title: ClassVar[str] = "node2vec"
    cites: ClassVar[str] = "Grover and Leskovec 2016"

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "p": (1.0, 4.0),
        "q": (0.5, 1.0),
        "penalty_inverse": (0.03, 0.1, 0.3, 1.0, 3.0),
    }

    p: Positive = 1.0  # above 1: a walk returns less often to the node before
    q: Positive = 1.0  # below 1: a walk moves away more often
    walks_per_node: Count = 10  # walks that start at a node
    walk_length: int = 80  # nodes of a walk
    width: Count = 128  # of the embeddings
    window: Count = 10  # greatest distance of a context on a walk
    negatives: Count = 5  # random nodes per pair
    passes: Count = 1  # over the walks

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d], zero for nodes without neighbours."""
        walks = random_walks(
            graph, Walks(self.walks_per_node, self.walk_length, self.p, self.q), seed
        )
        return negative_skip_gram(
            walks, data.nodes, Descent(self.width), self.window, self.passes, self.negatives, seed
        )
