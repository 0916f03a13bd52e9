"""A graph is built once for edges that come again, and never serves edges that have changed."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

from agnn.pyg import AGNNConv, _edge_graphs as edge_graphs
from agnn.pyg._edge_graphs import undirected_graph
from properties import assert_close

from torch_geometric.nn import AGNNConv as Peer  # isort: skip


@pytest.fixture
def edges() -> torch.Tensor:
    return torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_the_same_edges_have_the_same_graph(edges):
    first = undirected_graph(edges, 3, adds_loops=True)
    assert undirected_graph(edges, 3, adds_loops=True) is first


def test_two_layers_share_the_graph(edges, kernel_calls):
    x = torch.randn(3, 4)
    AGNNConv()(AGNNConv()(x, edges), edges)
    assert len(kernel_calls) == 2
    assert kernel_calls[0] is kernel_calls[1]


def test_another_number_of_nodes_is_another_graph(edges):
    assert undirected_graph(edges, 3, adds_loops=True).nodes == 3
    assert undirected_graph(edges, 5, adds_loops=True).nodes == 5


@pytest.mark.parametrize("how", ["in place", "data", "numpy"])
def test_edges_that_were_changed_are_looked_at_again(how):
    array = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    edges, x = torch.from_numpy(array), torch.randn(4, 5)
    assert_close(AGNNConv()(x, edges), Peer()(x, edges), 2e-6)
    target = {"in place": edges, "data": edges.data, "numpy": array}[how]
    target[:, 2:] = target[:, 2:] + 1  # 1-2 becomes 2-3
    assert edges.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert_close(AGNNConv()(x, edges), Peer()(x, edges), 2e-6)
    target[1, 3] = 0  # 3 -> 0 and no way back
    assert_close(AGNNConv()(x, edges), Peer()(x, edges), 2e-6)


def test_a_graph_is_forgotten_with_its_edges(edges):
    before = len(edge_graphs._KNOWN)
    mine = edges.clone()
    undirected_graph(mine, 3, adds_loops=True)
    assert len(edge_graphs._KNOWN) == before + 1
    del mine
    gc.collect()
    assert len(edge_graphs._KNOWN) == before


def test_edges_with_other_sizes_than_the_states_have_no_graph(edges):
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(4), (4, 4), check_invariants=True)
    assert undirected_graph(adjacency, 4, adds_loops=True) is not None
    assert undirected_graph(adjacency, 5, adds_loops=True) is None
