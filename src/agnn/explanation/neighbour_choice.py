"""Which nodes of a large neighbourhood are shown: the most attended, each with its way home."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def parents(
    hops: NDArray[np.int64], weights: NDArray[np.float64], edges: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Each node's most attended neighbour among those one hop nearer the target; the target's -1.

    `hops` [k] and `weights` [k] are by node, `edges` [2, e] joins positions in them, both ways.
    Of equally attended neighbours the first is taken.
    """
    i, j = edges
    inward = hops[j] == hops[i] - 1
    i, j = i[inward], j[inward]
    best = np.lexsort((j, -weights[j], i))  # by receiver; inside, the most attended first
    found = np.full(hops.size, -1, dtype=np.int64)
    children, first = np.unique(i[best], return_index=True)
    found[children] = j[best][first]
    return found


def most_attended(
    weights: NDArray[np.float64], parent: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """At most `limit` positions, ascending: the most attended whose way to the target fits in.

    A node is never shown without its parent, so that everything shown hangs together.
    """
    if weights.size <= limit:
        return np.arange(weights.size)
    shown: set[int] = set()
    for node in np.argsort(-weights, kind="stable").tolist():
        way = []
        while node >= 0 and node not in shown:
            way.append(node)
            node = int(parent[node])
        if len(shown) + len(way) <= limit:
            shown.update(way)
        if len(shown) == limit:
            break
    return np.array(sorted(shown), dtype=np.int64)
