"""Approximate personalised PageRank in compiled CPU code, in pieces of the sources."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.graph import Graph
from agnn.kernels._cpu.simd import compiled
from agnn.kernels._cpu.threads import run_in_pieces

U = np.uint64
_ONE = U(1)


@compiled
def _push(
    offsets: Any, columns: Any, source: Any, alpha: Any, tolerance: Any, p: Any, left: Any,
    queue: Any, touched: Any,
) -> Any:  # fmt: skip
    """Push from one source; how many nodes were touched, in the order of their first push."""
    # A ring: a node waits in it at most once.
    head, waiting, count, size = 0, 1, 0, queue.size
    queue[0], left[source] = source, 1.0
    while waiting:
        u = U(queue[head])
        head, waiting = (head + 1) % size, waiting - 1
        mass, left[u] = left[u], 0.0
        if p[u] == 0.0:
            touched[count] = u
            count += 1
        p[u] += alpha * mass
        degree = offsets[u + _ONE] - offsets[u]
        for place in range(offsets[u], offsets[u + _ONE]):
            j = U(columns[place])
            before = left[j]
            left[j] = before + (1.0 - alpha) * mass / degree
            bound = tolerance * (offsets[j + _ONE] - offsets[j])
            if before < bound and bound <= left[j]:
                queue[(head + waiting) % size] = j
                waiting += 1
    return count


@compiled
def _clear(offsets: Any, columns: Any, touched: Any, count: Any, p: Any, left: Any) -> None:
    for t in range(count):
        u = U(touched[t])
        p[u], left[u] = 0.0, 0.0
        for place in range(offsets[u], offsets[u + _ONE]):
            left[U(columns[place])] = 0.0


@compiled
def _sources(
    offsets: Any, columns: Any, alpha: Any, tolerance: Any, nodes: Any, weights: Any, first: Any,
    last: Any,
) -> None:  # fmt: skip
    n, keep = nodes.shape
    p, left = np.zeros(n), np.zeros(n)
    queue, touched = np.empty(n + 1, np.uint32), np.empty(n, np.uint32)
    for source in range(first, last):
        if offsets[source] == offsets[source + 1]:
            continue
        count = _push(offsets, columns, U(source), alpha, tolerance, p, left, queue, touched)
        negative = np.empty(count)
        for t in range(count):
            negative[t] = -p[touched[t]]
        place = 0
        for t in np.argsort(negative, kind="mergesort"):
            if place < keep and touched[t] != source:
                nodes[source, place] = touched[t]
                weights[source, place] = p[touched[t]]
                place += 1
        _clear(offsets, columns, touched, count, p, left)


def forward(
    graph: Graph, alpha: float, tolerance: float, nodes: NDArray[np.int32],
    weights: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill the rows of `nodes` and `weights`, each [n, keep]."""
    arguments = (*graph.arrays[:2], alpha, tolerance, nodes, weights)
    run_in_pieces(_sources, arguments, graph.nodes, 1000 * graph.nodes)
