"""Graphs made to a size, and rows cut into segments."""

from __future__ import annotations

import pytest
import torch
from benchmarks.synthetic import hashed_circulant, power_law

from agnn.errors import InputError
from agnn.graph import LongRows


def pairs_of(graph) -> set[tuple[int, int]]:
    return set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True))


def test_a_hashed_circulant_graph_is_symmetric_regular_and_simple():
    graph = hashed_circulant(501, 12, seed=1)
    pairs = pairs_of(graph)
    assert len(pairs) == graph.edges == 501 * 12
    assert all((j, i) in pairs and i != j for i, j in pairs)
    assert graph.degrees.unique().tolist() == [12]


def test_the_seed_decides_the_graph():
    first, again, other = (hashed_circulant(200, 6, seed=s).columns for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_power_law_graph_is_symmetric_and_has_hubs():
    graph = power_law(2_000, 10_000, seed=0)
    pairs = pairs_of(graph)
    assert all((j, i) in pairs and i != j for i, j in pairs)
    assert graph.longest_row > 10 * float(graph.degrees.double().median())


@pytest.mark.parametrize("degree", [3, 0, 60])
def test_a_degree_that_cannot_be_had_is_refused(degree):
    with pytest.raises(InputError, match="`degree` must be even"):
        hashed_circulant(100, degree)


def test_a_power_law_without_a_mean_is_refused():
    with pytest.raises(InputError, match="an exponent above 2"):
        power_law(10, 10, exponent=2.0)


def test_long_rows_are_cut_into_segments_that_cover_them_once():
    offsets = torch.tensor([0, 3, 3, 14, 19, 20])
    long = LongRows.of(offsets, 4)
    assert long.rows.tolist() == [2, 3]
    assert long.first.tolist() == [0, 3, 5]
    assert long.segment_rows.tolist() == [2, 2, 2, 3, 3]
    assert long.segment_bounds.T.tolist() == [[3, 7], [7, 11], [11, 14], [14, 18], [18, 19]]
