"""Every graph that ever broke a sparse kernel, or might: small, named, with its odd rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from agnn.graph import Graph

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Specimen:
    """A list of edges as a user might give it, and the nodes whose states are zero."""

    nodes: int
    pairs: Pairs = ()
    zero_rows: tuple[int, ...] = ()

    def graph(self) -> Graph:
        return Graph.from_edges(np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T, self.nodes)

    def weights(self, seed: int = 0) -> Tensor:
        """A weight above 0 for every pair of nodes, the same in both directions; [n, n]."""
        source = torch.Generator().manual_seed(seed)
        drawn = torch.randn(self.nodes, self.nodes, generator=source, dtype=torch.float64)
        return (drawn + drawn.T).exp()

    def weighted_graph(self, weights: Tensor) -> Graph:
        """The graph whose edges have the entries of `weights` [n, n]."""
        ends = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T
        return Graph.from_edges(ends, self.nodes, weights[ends[0], ends[1]])

    def neighbourhoods(self) -> Tensor:
        """Which nodes a node averages over: its neighbours and itself; bool [n, n]."""
        joined = torch.eye(self.nodes, dtype=torch.bool)
        for i, j in self.pairs:
            joined[i, j] = joined[j, i] = True
        return joined

    def states(
        self, replicas: int, width: int, dtype: torch.dtype = torch.float64, seed: int = 0
    ) -> Tensor:
        """Random states [R, n, d], of either sign, zero in the zero rows."""
        shape, source = (replicas, self.nodes, width), torch.Generator().manual_seed(seed)
        h = torch.randn(shape, dtype=torch.float64, generator=source)
        h[:, list(self.zero_rows)] = 0.0
        return h.to(dtype)


def _path(first: int, last: int) -> Pairs:
    return tuple((i, i + 1) for i in range(first, last))


def random_pairs(nodes: int, count: int, seed: int) -> Pairs:
    """A connected random graph: a path through all nodes, and `count` edges more."""
    ends = np.random.default_rng(seed).integers(nodes, size=(count, 2))
    return _path(0, nodes - 1) + tuple((int(i), int(j)) for i, j in ends)


_HUB = 350  # in the middle, so that other rows stand before and after it

ZOO = {
    "one node": Specimen(1),
    "no edges": Specimen(5),
    "path": Specimen(6, _path(0, 5)),
    # 700 neighbours: more than any block of edges that a kernel takes at once.
    "hub": Specimen(701, (*((_HUB, i) for i in range(701) if i != _HUB), (3, 4), (698, 700))),
    "two components": Specimen(7, ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6))),
    "isolated nodes": Specimen(6, ((1, 2), (2, 4))),
    "zero row": Specimen(6, ((0, 1), (1, 2), (2, 3), (3, 0), (1, 4)), zero_rows=(1,)),
    "zero and isolated": Specimen(4, ((0, 1),), zero_rows=(1, 3)),
    "all zero": Specimen(4, _path(0, 3), zero_rows=(0, 1, 2, 3)),
    "repeated edges": Specimen(4, ((0, 1), (0, 1), (1, 0), (2, 1), (1, 2), (2, 3))),
    "given self-loops": Specimen(4, ((0, 0), (0, 1), (1, 1), (2, 2), (1, 3), (3, 3), (3, 3))),
    # Degrees 4, 1, 1, 1, 2, 1: P and its transpose differ everywhere.
    "lopsided": Specimen(6, ((0, 1), (0, 2), (0, 3), (0, 4), (4, 5))),
    "complete": Specimen(20, tuple((i, j) for i in range(20) for j in range(i))),
    "random": Specimen(200, random_pairs(200, 700, seed=1)),
}


@cache
def zoo_graph(name: str) -> Graph:
    return ZOO[name].graph()


def tiny_random(nodes: int, edges: int, seed: int) -> Specimen:
    """A connected random graph for tests that need another one."""
    return Specimen(nodes, random_pairs(nodes, edges, seed))
