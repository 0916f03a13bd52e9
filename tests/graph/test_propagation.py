"""The fixed weights of GCN and GLN, Eq. (1) of the paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.graph import (
    Graph,
    Propagation,
    ReceptiveField,
    SparseFeatures,
    View,
    _propagation as propagation,
)
from properties import assert_close
from zoo import ZOO, zoo_graph


def dense_matrix(propagation: Propagation) -> Tensor:
    P = torch.diag(propagation.loop_weights)
    P[propagation.graph.receivers, propagation.graph.senders] = propagation.edge_weights
    return P


@pytest.mark.parametrize("name", ZOO)
def test_symmetric_is_the_formula_of_the_paper(name):
    A = ZOO[name].neighbourhoods().double()  # A + I
    D = torch.diag(A.sum(1).rsqrt())
    assert_close(
        dense_matrix(Propagation.symmetric(zoo_graph(name), torch.float64)), D @ A @ D, 1e-14
    )


def test_weights_are_rounded_once_to_the_type_asked_for():
    single = Propagation.symmetric(zoo_graph("random"))
    double = Propagation.symmetric(zoo_graph("random"), torch.float64)
    assert torch.equal(single.edge_weights, double.edge_weights.float())
    assert torch.equal(single.loop_weights, double.loop_weights.float())


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "matrix",
    [
        Propagation.symmetric,
        Propagation.neighbour_mean,
        Propagation.normalised_adjacency,
        Propagation.diffusion,
    ],
)
def test_weights_are_made_in_pieces_without_lists_of_both_ends(matrix, is_weighted, monkeypatch):
    def built():
        graph = zoo_graph("lopsided")
        weights = torch.rand(graph.edges, generator=torch.Generator().manual_seed(0))
        return Graph(graph.offsets, graph.columns, None, weights if is_weighted else None)

    whole, graph = matrix(built()), built()
    monkeypatch.setattr(propagation, "_EDGES_AT_ONCE", 3)
    assert torch.equal(matrix(graph).edge_weights, whole.edge_weights)
    assert not {"receivers", "senders"} & vars(graph).keys()


def test_transposed_weights_stand_at_the_reversed_edges():
    graph = zoo_graph("lopsided")
    P = Propagation(graph, torch.arange(graph.edges).double(), torch.ones(graph.nodes).double())
    turned = Propagation(graph, P.transposed_weights, P.loop_weights)
    assert torch.equal(dense_matrix(turned), dense_matrix(P).T)


def test_a_restricted_matrix_has_the_entries_of_the_whole_one():
    graph = zoo_graph("random")
    whole, field = (
        Propagation.symmetric(graph),
        ReceptiveField.around(graph, torch.tensor([3, 90]), 2),
    )
    edges, loops = whole.edge_weights[field.edge_ids], whole.loop_weights[field.nodes]
    part = dense_matrix(Propagation(field.graph, edges, loops))
    inner = field.nodes[: field.sizes[1]]
    # Rows within the last hop but one are whole; the outermost ring knows only edges inwards.
    expected = dense_matrix(whole)[inner][:, field.nodes]
    assert torch.equal(part[: field.sizes[1]], expected)


def test_a_view_weighs_by_the_degrees_of_the_whole_graph():
    graph = zoo_graph("random")
    features = SparseFeatures.from_scipy(sparse.csr_array(np.eye(graph.nodes)), torch.float64)
    view = View.around(features, graph, torch.tensor([3, 90]), 2)
    assert torch.equal(view.features.row_ids, view.field.nodes)
    weights = view.symmetric_propagation
    assert weights.edge_weights.dtype == torch.float64
    expected = Propagation.symmetric(graph, torch.float64)
    assert torch.equal(weights.loop_weights, expected.loop_weights[view.field.nodes])
    assert torch.equal(weights.edge_weights, expected.edge_weights[view.field.edge_ids])


@pytest.mark.parametrize("name", ZOO)
def test_the_neighbour_mean_leaves_the_node_itself_out(name):
    A = ZOO[name].neighbourhoods().double()
    A.fill_diagonal_(0.0)
    expected = A / A.sum(1, keepdim=True).clamp(min=1.0)
    assert_close(
        dense_matrix(Propagation.neighbour_mean(zoo_graph(name), torch.float64)), expected, 1e-14
    )
