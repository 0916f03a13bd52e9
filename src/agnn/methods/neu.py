"""NEU: vectors that take from their neighbours' and those neighbours' neighbours'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from agnn.data import NodeData
from agnn.graph import Graph, Propagation
from agnn.kernels import propagate
from agnn.methods.deepwalk import DeepWalk
from agnn.methods.embedding import Vectors
from agnn.methods.registry import register


@register
@dataclass(frozen=True)
class NEU(DeepWalk):
    """V <- V + near P V + far P P V with P = D^-1 A, some times over, on DeepWalk's vectors."""

    name: ClassVar[str] = "neu"
    title: ClassVar[str] = "DeepWalk + NEU"
    cites: ClassVar[str] = "Yang, Sun, Liu and Tu 2017"

    note: ClassVar[str] = (
        "Not in the paper's tables. The paper describes a sum with PageRank weights; the authors' "
        "own update, V + 0.5 P V + 0.25 P P V, three times over, is what runs, on DeepWalk's "
        "vectors."
    )

    near: float = 0.5  # the authors' lambda_1
    far: float = 0.25  # the authors' lambda_2
    times: int = 3

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """[n, d]; zeros for a node without neighbours."""
        given = super().vectors(data, graph, seed)
        return enhanced(graph, given, self.near, self.far, self.times)


def enhanced(graph: Graph, vectors: Vectors, near: float, far: float, times: int) -> Vectors:
    """(I + near P + far P^2)^times applied to vectors [n, d]."""
    share = 1.0 / graph.degrees[graph.receivers].to(torch.float32)
    mean = Propagation(graph, share, torch.zeros(graph.nodes))
    v = torch.from_numpy(vectors)[None]
    for _ in range(times):
        once = propagate(mean, v)
        v = v + near * once + far * propagate(mean, once)
    return v[0].numpy()
