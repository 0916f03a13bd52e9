"""What a rank computes, sends and receives: rows of the halo are those of their owners."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_rows import made
from thread_ranks import on_ranks

from agnn.distributed._local_graph import LocalGraph, _any_by_row, _count_by_group
from agnn.distributed._ranks import Ranks
from agnn.errors import InputError
from agnn.graph import Graph, Part

NODES = 300


def part_of(rank: int, ranks: int) -> Part:
    data = made(NODES)
    graph = Graph.of(data)
    bounds = Part.rank_bounds(NODES, ranks, graph.offsets.numpy())
    return Part.cut(graph, bounds, rank, data.features, data.labels)


def local_graph(ranks: Ranks, wire: torch.dtype | None = None) -> LocalGraph:
    return LocalGraph.of(part_of(ranks.rank, ranks.size), ranks, wire)


def states_of(nodes: np.ndarray, seed: int, width: int) -> torch.Tensor:
    """Numbers [2, nodes, width] that every rank makes alike for a node."""
    every = torch.randn(2, NODES, width, generator=torch.Generator().manual_seed(seed))
    return every[:, torch.from_numpy(nodes)]


@pytest.mark.parametrize("wire", [None, torch.bfloat16])
@pytest.mark.parametrize("size", [2, 3])
def test_rows_that_arrive_are_those_of_their_owners(size: int, wire: torch.dtype | None) -> None:
    def check(ranks: Ranks) -> int:
        local = local_graph(ranks, wire)
        part = local.part
        layer = local.around(np.arange(part.own), 1).layers[0]
        nodes = part.first + local.order
        coming = local.send(layer.there, states_of(nodes, 0, 5), states_of(nodes, 1, 2))
        states, exact = local.receive(coming, 5, torch.float32)
        expected = states_of(part.halo, 0, 5)
        rounded = expected if wire is None else expected.to(wire).float()
        assert torch.equal(states, rounded)
        assert torch.equal(exact, states_of(part.halo, 1, 2)), "what must be exact is not rounded"
        return part.halo.size

    assert sum(on_ranks(size, check)) > 0


def test_rows_with_neighbours_elsewhere_come_last() -> None:
    def check(ranks: Ranks) -> bool:
        local = local_graph(ranks)
        is_far = local.columns >= local.part.own
        has_far = _any_by_row(is_far, local.offsets)
        assert not has_far[: local.inner].any()
        assert has_far[local.inner :].all()
        assert np.array_equal(np.sort(local.order), np.arange(local.part.own))
        assert np.array_equal(local.order[local.places], np.arange(local.part.own))
        return local.is_as_given

    assert on_ranks(1, check) == [True]
    assert not any(on_ranks(3, check))


def test_a_layer_reads_nothing_where_nothing_is_needed() -> None:
    def check(ranks: Ranks) -> None:
        local = local_graph(ranks)
        needed = local.around(np.empty(0, np.int64), 2)
        for layer in needed.layers:
            assert layer.rows.inner.edges + layer.rows.border.edges == 0
            assert sum(layer.there.counts) + sum(layer.there.arriving) == 0
        assert needed.rows.numel() == 0

    on_ranks(2, check)


def test_a_part_is_for_its_own_rank() -> None:
    with pytest.raises(InputError, match="part 1 of 2 was given to rank 0 of 2"):
        LocalGraph.of(part_of(1, 2), Ranks(0, 2))


def test_flags_and_counts_of_empty_rows_and_groups() -> None:
    flags = np.array([False, True, False])
    offsets = np.array([0, 0, 2, 2, 3, 3])
    assert _any_by_row(flags, offsets).tolist() == [False, True, False, False, False]
    assert not _any_by_row(np.empty(0, bool), np.zeros(4, np.int64)).any()
    assert _count_by_group(flags, np.array([0, 2, 1, 0])) == [0, 1, 0, 0]
