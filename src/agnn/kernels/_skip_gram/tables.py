"""What skip-gram reads beside its pairs: a Huffman tree, and tables to draw by weight."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Paths:
    """The way from the root of a binary tree to each leaf: which inner nodes, and which turns."""

    offsets: NDArray[np.uint64]  # [n + 1]
    rows: NDArray[np.uint32]  # [k] inner nodes, root first
    labels: NDArray[np.float32]  # [k] 1 where the path turns left, 0 where right
    inner: int  # how many inner nodes the tree has

    @property
    def longest(self) -> int:
        """The most turns on a path."""
        return int(np.diff(self.offsets).max(initial=np.uint64(0)))


class Noise(NamedTuple):
    """What negatives are drawn by: an alias table over the nodes, and how many at a time."""

    thresholds: NDArray[np.float64]
    aliases: NDArray[np.uint32]
    negatives: int


def huffman_paths(counts: NDArray[np.int64]) -> Paths:
    """The Huffman tree over the nodes with a count above 0; the others have empty paths.

    Of equal counts the lower node comes first, and leaves before inner nodes.
    """
    n = counts.size
    leaves = np.flatnonzero(counts)
    heap = [(int(counts[leaf]), int(leaf)) for leaf in leaves]
    heapq.heapify(heap)
    parent: dict[int, tuple[int, float]] = {}
    inner = 0
    while len(heap) > 1:
        (one, left) = heapq.heappop(heap)
        (two, right) = heapq.heappop(heap)
        parent[left] = (inner, 1.0)
        parent[right] = (inner, 0.0)
        heapq.heappush(heap, (one + two, n + inner))
        inner += 1
    paths = [_path(parent, n, leaf) for leaf in range(n)]
    offsets = np.zeros(n + 1, np.uint64)
    np.cumsum([len(path) for path in paths], out=offsets[1:])
    turns = [turn for path in paths for turn in path]
    rows = np.array([row for row, _ in turns], np.uint32)
    return Paths(offsets, rows, np.array([label for _, label in turns], np.float32), inner)


def _path(parent: dict[int, tuple[int, float]], n: int, leaf: int) -> list[tuple[int, float]]:
    path = []
    place = leaf
    while place in parent:
        turn = parent[place]
        path.append(turn)
        place = n + turn[0]
    return path[::-1]


def alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Thresholds [k] and aliases [k] that draw by weight from two uniform numbers (Walker 1977).

    Place i, drawn uniformly, stands for itself below its threshold and for its alias above.
    """
    share = weights * (weights.size / weights.sum())
    thresholds = np.ones(weights.size)
    aliases = np.arange(weights.size, dtype=np.uint32)
    poor = [int(i) for i in np.flatnonzero(share < 1.0)]
    rich = [int(i) for i in np.flatnonzero(share >= 1.0)]
    left = share.tolist()
    while poor and rich:
        i = poor.pop()
        j = rich[-1]
        thresholds[i] = left[i]
        aliases[i] = j
        left[j] -= 1.0 - left[i]
        if left[j] < 1.0:
            poor.append(rich.pop())
    return thresholds, aliases
