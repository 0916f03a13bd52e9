"""LASAGNE: embeddings whose contexts are drawn by personalised PageRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from agnn.data import NodeData
from agnn.graph import Graph
from agnn.kernels import Descent, pair_skip_gram, personal_pagerank
from agnn.methods._embedding import EmbeddingMethod, Vectors
from agnn.methods._protocol import register


@register
@dataclass(frozen=True)
class LASAGNE(EmbeddingMethod):
    """Skip-gram on pairs (i, j) drawn in proportion to the approximate PageRank of j from i.

    The contexts of a node are the `contexts` nodes with the highest PageRank. All nodes with
    neighbours have the same number of pairs on average.
    """

    name: ClassVar[str] = "lasagne"
    title: ClassVar[str] = "LASAGNE"
    cites: ClassVar[str] = "Faerman, Borutta, Fountoulakis and Mahoney 2017"

    alpha: float = 0.15  # probability of a restart of the PageRank
    tolerance: float = 1e-4  # of the approximate PageRank
    contexts: int = 100  # nodes that a node has as contexts
    width: int = 128  # of the embeddings
    negatives: int = 5  # random nodes per pair
    samples_per_node: int = 2000  # about as many as DeepWalk's walks give

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d], zero for nodes without neighbours."""
        nodes, weights = personal_pagerank(graph, self.alpha, self.tolerance, self.contexts)
        i, place = np.nonzero(weights)
        shares = weights[i, place] / weights.sum(axis=1)[i]
        samples = self.samples_per_node * np.unique(i).size
        return pair_skip_gram(
            np.stack([i, nodes[i, place]]), shares, data.nodes, Descent(self.width),
            max(samples, 1), self.negatives, seed, is_symmetric=False,
        )  # fmt: skip
