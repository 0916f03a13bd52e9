"""LINE: embeddings in which neighbours, and nodes with the same neighbours, are close."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.graph import Graph
from agnn.kernels import Descent, pair_skip_gram
from agnn.methods._embedding import EmbeddingMethod, Vectors, of_unit_length
from agnn.networks import Count, register


@register
@dataclass(frozen=True)
class LINE(EmbeddingMethod):
    """Skip-gram on the edges, with one table of vectors (first order) and with two (second order).

    The two halves are scaled to length 1 and concatenated. On sparse graphs the authors also
    connect each node with the neighbours of its neighbours, so the weight of a pair is its entry
    in A + A D^-1 A.
    """

    name: ClassVar[str] = "line"
    title: ClassVar[str] = "LINE"
    cites: ClassVar[str] = "Tang, Qu, Wang, Zhang, Yan and Mei 2015"

    width: Count = 100  # of each half; the program's default
    negatives: Count = 5  # the program's default, as is the learning rate of 0.025
    samples_per_edge: int = 1000  # 10 million pairs on Cora; the program has no default

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, 2 d], zero for nodes without neighbours."""
        pairs, weights = weighted_pairs(graph)
        samples = max(1, self.samples_per_edge * graph.edges)
        halves = [
            pair_skip_gram(
                pairs,
                weights,
                data.nodes,
                Descent(self.width),
                samples,
                self.negatives,
                2 * seed + order,
                is_symmetric=order == 0,
            )
            for order in range(2)
        ]
        return np.concatenate([of_unit_length(half) for half in halves], axis=1)


def weighted_pairs(graph: Graph) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the pairs [2, k] of distinct nodes in A + A D^-1 A, and their entries [k]."""
    from scipy.sparse import csr_array

    size = (graph.nodes, graph.nodes)
    rows = (graph.senders.numpy(), graph.offsets.numpy())
    a = csr_array((np.ones(graph.edges), *rows), shape=size)
    share = csr_array(((1.0 / graph.degrees[graph.receivers]).numpy(), *rows), shape=size)
    pairs = (a + a @ share).tocoo()
    apart = pairs.row != pairs.col
    return np.stack([pairs.row, pairs.col])[:, apart], pairs.data[apart]
