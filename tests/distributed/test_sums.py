"""Sums over all nodes have the same bits on every rank, however the rows are divided."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from thread_ranks import on_ranks

from agnn.distributed._ranks import Ranks
from agnn.distributed._sums import BlockSums, Subtrees, SumsLink
from agnn.graph import Part

NODES = 700


def block_values() -> list[torch.Tensor]:
    """A number per block of very different sizes, whose sum depends on the order."""
    count = Part.block_bounds(NODES).size - 1
    source = np.random.default_rng(1)
    values = source.standard_normal((count, 2)) * 10.0 ** source.integers(-8, 8, size=(count, 2))
    return [torch.from_numpy(row) for row in values]


def own_blocks(ranks: Ranks) -> range:
    """The numbers of the blocks that a rank owns."""
    bounds = Part.rank_bounds(NODES, ranks.size)[ranks.rank : ranks.rank + 2]
    return range(*np.searchsorted(Part.block_bounds(NODES), bounds).tolist())


def total_on(ranks: Ranks) -> torch.Tensor:
    sums = BlockSums(ranks, Part.rank_bounds(NODES, ranks.size))
    values = block_values()
    return sums.total([values[number] for number in own_blocks(ranks)])


@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_a_total_has_the_bits_of_one_rank(size: int) -> None:
    (alone,) = on_ranks(1, total_on)
    for total in on_ranks(size, total_on):
        assert torch.equal(total, alone)
    exact = [math.fsum(float(value[k]) for value in block_values()) for k in range(2)]
    torch.testing.assert_close(alone, torch.tensor(exact, dtype=torch.float64), rtol=1e-9, atol=0)


@pytest.mark.parametrize("size", [1, 3])
def test_several_sums_travel_in_one_message(size: int) -> None:
    messages: list[int] = []

    def two_totals(ranks: Ranks) -> list[torch.Tensor]:
        sums = BlockSums(ranks, Part.rank_bounds(NODES, ranks.size))
        gather = ranks.gather
        ranks.gather = lambda own: messages.append(ranks.rank) or gather(own)  # type: ignore[method-assign]
        results = [torch.zeros(2, 2), torch.zeros(3)]
        for factor, result in zip((1.0, 10.0), results, strict=True):
            tree = Subtrees()
            for number in own_blocks(ranks):
                tree.add(number, torch.full((result.numel(),), factor, dtype=torch.float64))
            sums.later(tree, [result])
        SumsLink(sums).backward(torch.zeros(1))
        SumsLink(sums).backward(torch.zeros(1))  # nothing waits any more
        return results

    blocks = Part.block_bounds(NODES).size - 1
    for first, second in on_ranks(size, two_totals):
        assert torch.equal(first, torch.full((2, 2), float(blocks)))
        assert torch.equal(second, torch.full((3,), 10.0 * blocks))
    assert sorted(messages) == list(range(size))


def test_a_tree_adds_neighbours_of_one_level_only() -> None:
    tree = Subtrees()
    for number in (2, 3, 4):
        tree.add(number, torch.tensor([float(number)]))
    assert tree.places == [(1, 1), (0, 4)]
    tree.add(5, torch.tensor([5.0]))
    assert tree.places == [(1, 1), (1, 2)], "2 + 3 and 4 + 5 are not of one parent"
    assert [float(node.value) for node in tree.nodes if node.value is not None] == [5.0, 9.0]
