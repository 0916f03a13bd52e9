"""Edges are found where they stand, and only where there are some."""

from __future__ import annotations

import pytest
import torch

from zoo import ZOO, zoo_graph


@pytest.mark.parametrize("name", ZOO)
def test_every_edge_is_found_and_no_other(name):
    graph = zoo_graph(name)
    n = graph.nodes
    some = torch.arange(0, n, max(1, n // 40))
    i, j = some.repeat_interleave(n), torch.arange(n).repeat(some.numel())
    expected = torch.full((n, n), -1)
    expected[graph.receivers, graph.senders] = torch.arange(graph.edges)
    assert torch.equal(graph.edge_places(i, j), expected[i, j])


@pytest.mark.parametrize("name", ["random", "hub", "no edges", "isolated nodes"])
def test_the_edges_of_some_rows_come_row_after_row(name):
    graph = zoo_graph(name)
    rows = [graph.nodes - 1, 0, 2, 2]
    expected = [e for i in rows for e in range(int(graph.offsets[i]), int(graph.offsets[i + 1]))]
    assert graph.row_edges(torch.tensor(rows)).tolist() == expected


def test_no_pairs_are_found_nowhere():
    nothing = torch.tensor([], dtype=torch.int64)
    assert zoo_graph("path").edge_places(nothing, nothing).tolist() == []
