"""The definition of approximate personalised PageRank: push until little is left."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from agnn.graph import Graph


def forward(
    graph: Graph, alpha: float, tolerance: float, nodes: NDArray[np.int32],
    weights: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill the rows of `nodes` and `weights`, each [n, keep]."""
    offsets, columns = graph.offsets.tolist(), graph.columns.tolist()
    rows = [columns[offsets[j] : offsets[j + 1]] for j in range(graph.nodes)]
    for source in range(graph.nodes):
        found = pushed(rows, source, alpha, tolerance)
        found.pop(source, None)
        best = sorted(found, key=lambda j: -found[j])[: nodes.shape[1]]
        nodes[source, : len(best)] = best
        weights[source, : len(best)] = [found[j] for j in best]


def pushed(rows: list[list[int]], source: int, alpha: float, tolerance: float) -> dict[int, float]:
    """The approximation for one source, by node in the order in which they were first pushed."""
    p: dict[int, float] = {}
    left, queue = {source: 1.0}, deque([source] if rows[source] else [])
    while queue:
        u = queue.popleft()
        mass, left[u] = left[u], 0.0
        p[u] = p.get(u, 0.0) + alpha * mass
        for j in rows[u]:
            before = left.get(j, 0.0)
            left[j] = before + (1.0 - alpha) * mass / len(rows[u])
            if before < tolerance * len(rows[j]) <= left[j]:
                queue.append(j)
    return p
