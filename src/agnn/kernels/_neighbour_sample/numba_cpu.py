"""Neighbour samples in compiled CPU code: the definition, with sorted places in place of a set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.graph import Graph
from agnn.kernels import _counter as counter
from agnn.kernels._cpu.simd import inline, jit
from agnn.kernels._cpu.threads import run_in_pieces

U = np.uint64
_ONE = U(1)
_word = inline(counter.word)
_below = inline(counter.below)


@jit
def _samples(
    starts: Any, nodes: Any, key: Any, offsets: Any, out: Any, first: Any, last: Any
) -> None:
    for k in range(first, last):
        node = nodes[k]
        begin = starts[node]
        at = offsets[k]
        degree = starts[node + _ONE] - begin
        count = offsets[k + 1] - offsets[k]
        if degree == count:
            for j in range(degree):
                out[at + j] = begin + j
            continue
        own = _word(key, node)
        for t in range(count):
            j = degree - count + t
            place = begin + _below(_word(own, j), j + _ONE)
            # Where `place` belongs among the t sorted ones before it.
            low = at
            high = at + t
            while low < high:
                middle = (low + high) >> _ONE
                if out[middle] < place:
                    low = middle + _ONE
                else:
                    high = middle
            if low < at + t and out[low] == place:  # taken: its own, the largest so far
                place = begin + j
                low = at + t
            q = at + t
            while q > low:
                out[q] = out[q - _ONE]
                q -= _ONE
            out[low] = place


def forward(
    graph: Graph,
    nodes: NDArray[np.int64],
    fanout: int,
    key: int,
    offsets: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The places of the chosen edges, node after node from `offsets` [k + 1] on; ascending."""
    del fanout  # `offsets` have it
    out = np.empty(int(offsets[-1]), np.int64)
    arguments = (
        graph.offsets.numpy().view(np.uint64),
        nodes.view(np.uint64),
        U(key),
        offsets.view(np.uint64),
        out.view(np.uint64),
    )
    run_in_pieces(_samples, arguments, nodes.size, 4 * out.size)
    return out
