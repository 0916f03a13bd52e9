"""The definition of a neighbour sample in plain Python, node by node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agnn.graph import Graph
from agnn.kernels._counter import U, below, counter_words


def forward(
    graph: Graph,
    nodes: NDArray[np.int64],
    fanout: int,
    key: int,
    offsets: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The places of the chosen edges, node after node from `offsets` [k + 1] on; ascending.

    Floyd's algorithm: of d edges the last f take turns. Number j, from d - f on, draws a number
    from 0 to j; it takes that place, or its own where that place is taken.
    """
    out = np.empty(int(offsets[-1]), np.int64)
    starts, degrees = graph.offsets.numpy(), graph.degrees.numpy()
    keys = counter_words(key, nodes).tolist()
    for k, node in enumerate(nodes.tolist()):
        degree, begin = int(degrees[node]), int(starts[node])
        turns = np.arange(max(degree - fanout, 0), degree)
        taken = set(turns.tolist()) if degree <= fanout else set[int]()
        if degree > fanout:
            drawn = below(counter_words(keys[k], turns), (turns + 1).astype(U))
            for j, place in zip(turns.tolist(), drawn.tolist(), strict=True):
                taken.add(j if place in taken else place)
        out[offsets[k] : offsets[k + 1]] = [begin + place for place in sorted(taken)]
    return out
