"""DeepWalk: embeddings by skip-gram on uniform random walks; NEU enhances them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch

from agnn.data import NodeData
from agnn.graph import Graph, Propagation, Walks
from agnn.kernels import Descent, hierarchical_skip_gram, propagate, random_walks
from agnn.methods._embedding import EmbeddingMethod, Vectors
from agnn.networks import Count, register


@register
@dataclass(frozen=True)
class DeepWalk(EmbeddingMethod):
    """Skip-gram by hierarchical softmax on uniform walks; defaults of the authors' program."""

    name: ClassVar[str] = "deepwalk"
    title: ClassVar[str] = "DeepWalk"
    cites: ClassVar[str] = "Perozzi, Al-Rfou and Skiena 2014"

    # 10 is the window of the authors' own experiments, which also had 80 walks and 128 dimensions.
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "window": (5, 10),
        "penalty_inverse": (0.01, 0.1, 1.0, 10.0),
    }

    walks_per_node: Count = 10  # walks that start at a node
    walk_length: int = 40  # nodes of a walk
    width: Count = 64  # of the embeddings
    window: Count = 5  # greatest distance of a context on a walk
    passes: Count = 1  # over the walks

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d], zero for nodes without neighbours."""
        walks = random_walks(graph, Walks(self.walks_per_node, self.walk_length), seed)
        descent = Descent(self.width)
        return hierarchical_skip_gram(walks, data.nodes, descent, self.window, self.passes, seed)


@register
@dataclass(frozen=True)
class NEU(DeepWalk):
    """DeepWalk's vectors after `times` updates V <- V + near P V + far P P V with P = D^-1 A."""

    name: ClassVar[str] = "neu"
    title: ClassVar[str] = "DeepWalk + NEU"
    cites: ClassVar[str] = "Yang, Sun, Liu and Tu 2017"

    near: float = 0.5  # the authors' lambda_1
    far: float = 0.25  # the authors' lambda_2
    times: Annotated[int, "at least 0"] = 3  # number of updates

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d], zero for nodes without neighbours."""
        vectors = super().vectors(data, graph, seed)
        return enhance(graph, vectors, self.near, self.far, self.times)


def enhance(graph: Graph, vectors: Vectors, near: float, far: float, times: int) -> Vectors:
    """Return (I + near P + far P^2)^times applied to vectors [n, d]."""
    share = 1.0 / graph.degrees[graph.receivers].to(torch.float32)
    mean = Propagation(graph, share, torch.zeros(graph.nodes))
    v = torch.from_numpy(vectors)[None]
    for _ in range(times):
        once = propagate(mean, v)
        v = v + near * once + far * propagate(mean, once)
    return v[0].numpy()
