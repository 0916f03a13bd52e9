"""LASAGNE: embeddings whose contexts are drawn by personalised PageRank."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Annotated, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.graph import Graph
from agnn.kernels import Descent, pair_skip_gram
from agnn.methods._embedding import EmbeddingMethod, Vectors
from agnn.networks import Count, Positive, register


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

    # probability of a restart of the PageRank
    alpha: Annotated[float, "above 0 and at most 1"] = 0.15
    tolerance: Positive = 1e-4  # of the approximate PageRank
    contexts: Count = 100  # nodes that a node has as contexts
    width: Count = 128  # of the embeddings
    negatives: Count = 5  # random nodes per pair
    samples_per_node: int = 2000  # about as many as DeepWalk's walks give

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d], zero for nodes without neighbours."""
        nodes, weights = self._contexts_of(data, graph)
        i, context = np.nonzero(weights)
        shares = weights[i, context] / weights.sum(axis=1)[i]
        samples = self.samples_per_node * np.unique(i).size
        return pair_skip_gram(
            np.stack([i, nodes[i, context]]),
            shares,
            data.nodes,
            Descent(self.width),
            max(samples, 1),
            self.negatives,
            seed,
            is_symmetric=False,
        )

    def _contexts_of(self, data: NodeData, graph: Graph) -> _Contexts:
        """Return the contexts of every node, computed once for all seeds."""
        arguments = (self.alpha, self.tolerance, self.contexts)
        with _LOCK:  # the replicas' threads wait for the first of them
            cached = _CACHE.setdefault(data, {})
            if arguments not in cached:
                cached[arguments] = personal_pagerank(graph, *arguments)
            return cached[arguments]


_Contexts = tuple[NDArray[np.int32], NDArray[np.float64]]  # nodes and weights, each [n, contexts]
# Forgotten with the data that they belong to.
_CACHE: WeakKeyDictionary[NodeData, dict[tuple[float, float, int], _Contexts]] = WeakKeyDictionary()
_LOCK = Lock()


def personal_pagerank(graph: Graph, alpha: float, tolerance: float, keep: int) -> _Contexts:
    """Return the `keep` nodes that a walk from each node is most often at, and how often.

    Row i is a row of alpha (I - (1 - alpha) P)^-1 with P = D^-1 A, approximated from below by
    pushes (Andersen, Chung and Lang 2006) until what is left at each node j is under `tolerance`
    times its degree. Node i itself is left out; where fewer nodes are reached, the rest of the
    row is i with weight 0. Of equal weights the node reached first comes first.
    """
    nodes = np.repeat(np.arange(graph.nodes, dtype=np.int32)[:, None], keep, axis=1)
    weights = np.zeros((graph.nodes, keep))
    offsets = graph.offsets.tolist()
    columns = graph.columns.tolist()
    rows = [columns[offsets[j] : offsets[j + 1]] for j in range(graph.nodes)]
    bounds = [tolerance * len(row) for row in rows]
    for source in range(graph.nodes):
        ranks = _ranks_from(source, rows, bounds, alpha)
        ranks.pop(source, None)
        best = sorted(ranks, key=lambda j: -ranks[j])[:keep]
        nodes[source, : len(best)] = best
        weights[source, : len(best)] = [ranks[j] for j in best]
    return nodes, weights


def _ranks_from(
    source: int, rows: list[list[int]], bounds: list[float], alpha: float
) -> dict[int, float]:
    """Return the ranks for one source, by node in the order in which they were first pushed."""
    ranks: dict[int, float] = {}
    mass_left = {source: 1.0}
    queue = deque([source] if rows[source] else [])
    while queue:
        node = queue.popleft()
        mass = mass_left[node]
        mass_left[node] = 0.0
        ranks[node] = ranks.get(node, 0.0) + alpha * mass
        share = (1.0 - alpha) * mass / len(rows[node])
        for j in rows[node]:
            before = mass_left.get(j, 0.0)
            mass_left[j] = after = before + share
            # A node waits in the queue at most once: it enters when it passes its bound.
            if before < bounds[j] <= after:
                queue.append(j)
    return ranks
