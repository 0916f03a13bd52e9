"""Approximate personalised PageRank of every node: checks and dispatch, once for all backends."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._backends import implementation


class _Backend(Protocol):
    def forward(
        self, graph: Graph, alpha: float, tolerance: float, nodes: NDArray[np.int32],
        weights: NDArray[np.float64],
    ) -> None: ...  # fmt: skip


def personal_pagerank(
    graph: Graph, alpha: float, tolerance: float, keep: int, *, backend: str = "auto"
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The `keep` nodes that a walk from each node is most often at, and how often; each [n, keep].

    Row i is a row of alpha (I - (1 - alpha) P)^-1 with P = D^-1 A, approximated from below by
    pushes (Andersen, Chung and Lang 2006) until what is left at each node j is under `tolerance`
    times its degree. Node i itself is left out; where fewer nodes are reached, the rest of the
    row is i with weight 0. Of equal weights the node reached first comes first.
    """
    if not 0.0 < alpha <= 1.0:
        raise InputError(f"`alpha` must be above 0 and at most 1; got {alpha}.")
    if not tolerance > 0.0:
        raise InputError(f"`tolerance` must be above 0; got {tolerance}.")
    if keep < 1:
        raise InputError(f"`keep` must be at least 1; got {keep}.")
    nodes = np.repeat(np.arange(graph.nodes, dtype=np.int32)[:, None], keep, axis=1)
    weights = np.zeros((graph.nodes, keep))
    chosen: _Backend = implementation("pagerank", backend, "cpu")
    chosen.forward(graph, alpha, tolerance, nodes, weights)
    return nodes, weights
