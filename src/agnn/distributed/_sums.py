"""Sums over all nodes that do not depend on how the rows are divided among ranks.

Every block of rows is summed by its owner. The block sums are added in one binary tree: an owner
adds the whole subtrees that it has, the ranks gather these, and each finishes the tree by itself.
So every rank has the same bits, whatever the number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.distributed._ranks import Ranks
from agnn.graph import Part
from agnn.kernels import Link


class _Node(NamedTuple):
    level: int
    place: int  # among the nodes of its level
    value: Tensor | None


class Subtrees:
    """The sums of consecutive blocks, added up as far as the tree allows."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []

    def add(self, place: int, value: Tensor | None, level: int = 0) -> None:
        """Add the next node of the tree."""
        node = _Node(level, place, value)
        while self.nodes and node.place % 2 and self.nodes[-1][:2] == (node.level, node.place - 1):
            left = self.nodes.pop()
            total = None if left.value is None or node.value is None else left.value + node.value
            node = _Node(node.level + 1, node.place // 2, total)
        self.nodes.append(node)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Level and place of every node."""
        return [(node.level, node.place) for node in self.nodes]


class BlockSums:
    """Sums over the nodes of a graph whose rows are divided by `bounds`."""

    def __init__(self, ranks: Ranks, bounds: NDArray[np.int64]) -> None:
        self.ranks = ranks
        blocks = Part.block_bounds(int(bounds[-1]))
        owned = np.searchsorted(blocks, bounds)  # whole blocks, so equal
        self.first = int(owned[ranks.rank])
        self.places: list[list[tuple[int, int]]] = []
        for first, last in zip(owned[:-1].tolist(), owned[1:].tolist(), strict=True):
            tree = Subtrees()
            for block in range(first, last):
                tree.add(block, None)
            self.places.append(tree.places)
        self.waiting: list[tuple[Subtrees, Sequence[Tensor]]] = []

    def later(self, subtrees: Subtrees, results: Sequence[Tensor]) -> None:
        """Ask for a sum, which `flush` writes into `results`; flattened in this order."""
        self.waiting.append((subtrees, results))

    def flush(self) -> None:
        """Finish all sums that wait, with one message."""
        waiting = self.waiting
        self.waiting = []
        if not waiting:
            return
        by_node = zip(*(_values(tree) for tree, _ in waiting), strict=True)
        rows = torch.stack([torch.cat(values) for values in by_node])
        most = max(len(places) for places in self.places)
        padded = torch.nn.functional.pad(rows, (0, 0, 0, most - len(rows)))
        tree = Subtrees()
        for positions, values in zip(self.places, self.ranks.gather(padded), strict=True):
            for (level, position), value in zip(positions, values, strict=False):
                tree.add(position, value, level)
        (total,) = _values(tree)  # one root is left
        begin = 0
        for _, results in waiting:
            for result in results:
                end = begin + result.numel()
                result.copy_(total[begin:end].view(result.shape))
                begin = end

    def total(self, values: Sequence[Tensor]) -> Tensor:
        """The sum over all ranks of one tensor per own block, in double precision."""
        tree = Subtrees()
        for block, value in enumerate(values, self.first):
            tree.add(block, value.double().flatten())
        result = values[0].new_empty(values[0].shape, dtype=torch.float64)
        self.later(tree, [result])
        self.flush()
        return result


def _values(tree: Subtrees) -> list[Tensor]:
    return [node.value for node in tree.nodes if node.value is not None]


class SumsLink(Link):
    """The start of a chain: finishes the sums of all links behind it in the backward pass."""

    def __init__(self, sums: BlockSums) -> None:
        self.sums = sums

    def forward(self, x: Tensor) -> Tensor:
        """The input itself."""
        return x

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Nothing is left to differentiate; the gradients of all parameters are filled in."""
        self.sums.flush()
        return gradient, ()
