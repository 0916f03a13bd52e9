"""Random walks in compiled CPU code: a walk at a time, memory linear in edges.

Rejection takes the place of a table for every pair of neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.graph import Graph, Walks
from agnn.kernels import _counter as counter
from agnn.kernels._cpu.simd import inline, jit
from agnn.kernels._cpu.threads import run_in_pieces

U = np.uint64
_ZERO = U(0)
_ONE = U(1)
_TWO = U(2)
_word, _below, _fraction = map(inline, (counter.word, counter.below, counter.fraction))


@inline
def _are_joined(offsets: Any, columns: Any, i: Any, j: Any) -> Any:
    """Whether (i, j) is an edge: bisection of the shorter row, whose columns ascend."""
    if offsets[i + _ONE] - offsets[i] > offsets[j + _ONE] - offsets[j]:
        i, j = j, i
    low = offsets[i]
    high = offsets[i + _ONE]
    while low < high:
        middle = (low + high) // _TWO
        if U(columns[middle]) < j:
            low = middle + _ONE
        else:
            high = middle
    return low < offsets[i + _ONE] and U(columns[low]) == j


@jit
def _walks(
    graph: Any, starts: Any, keys: Any, weights: Any, out: Any, first: Any, last: Any
) -> None:
    offsets, columns = graph
    back, near, on = weights
    highest = max(back, near, on)
    lowest = min(back, near, on)
    for walk in range(first, last):
        key = keys[walk]
        drawn = _ZERO
        previous = starts[walk]
        node = starts[walk]
        out[walk, 0] = node
        for step in range(1, out.shape[1]):
            begin = offsets[node]
            degree = offsets[node + _ONE] - begin
            while True:
                x = _word(key, drawn)
                drawn += _ONE
                proposed = U(columns[begin + _below(x, degree)])
                height = _fraction(x) * highest
                # Most proposals need no look at the graph; none does where p = q = 1.
                if step == 1 or height < lowest:
                    break
                if proposed == previous:
                    weight = back
                else:
                    weight = near if _are_joined(offsets, columns, previous, proposed) else on
                if height < weight:
                    break
            previous = node
            node = proposed
            out[walk, step] = node


def forward(
    graph: Graph, walks: Walks, starts: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """Walk k starts at `starts[k]` and draws under `keys[k]`; [k, length]."""
    out = np.empty((starts.size, walks.length), np.int32)
    arguments = (graph.arrays[:2], starts, keys, tuple(walks.weights), out)
    run_in_pieces(_walks, arguments, starts.size, 4 * out.size)
    return out
