"""LINE: neighbours lie close, and so do nodes with the same neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from agnn.data import NodeData
from agnn.graph import Graph
from agnn.kernels import Descent, pair_skip_gram
from agnn.methods.embedding import EmbeddingMethod, Vectors, of_unit_length
from agnn.methods.registry import register


@register
@dataclass(frozen=True)
class LINE(EmbeddingMethod):
    """Edges as skip-gram pairs, twice: u = v (first order) and u beside v (second order).

    Both halves, each brought to length 1, side by side.
    """

    name: ClassVar[str] = "line"
    title: ClassVar[str] = "LINE"
    cites: ClassVar[str] = "Tang, Qu, Wang, Zhang, Yan and Mei 2015"

    width: int = 100  # of each half: the program's default
    negatives: int = 5  # likewise, and the rate 0.025
    samples_per_edge: int = 1000  # 10 million on Cora; the program leaves the count to its user

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """[n, 2 d]; zeros for a node without neighbours."""
        edges = np.stack([graph.receivers.numpy(), graph.senders.numpy()])
        weights, samples = np.ones(graph.edges), max(1, self.samples_per_edge * graph.edges)
        halves = [
            pair_skip_gram(
                edges, weights, data.nodes, Descent(self.width), samples, self.negatives,
                2 * seed + order, is_symmetric=order == 0,
            )
            for order in range(2)
        ]  # fmt: skip
        return np.concatenate([of_unit_length(half) for half in halves], axis=1)
