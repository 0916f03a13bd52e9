"""Edge weights of a graph: kept with every edge, through pruning, and refused where unusable."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph, Propagation, ReceptiveField, SparseFeatures, View
from properties import assert_close
from zoo import ZOO, Specimen

PATH = np.array([[0, 1, 2], [1, 2, 3]])


def weighted(name: str) -> tuple[Graph, Tensor]:
    """The graph with random weights, and W [n, n] with zeros where there is no edge."""
    animal = ZOO[name]
    weights = animal.weights()
    joined = animal.neighbourhoods().double().fill_diagonal_(0.0)
    return animal.weighted_graph(weights), weights * joined


def dense_matrix(propagation: Propagation) -> Tensor:
    P = torch.diag(propagation.loop_weights)
    P[propagation.graph.receivers, propagation.graph.senders] = propagation.edge_weights
    return P


@pytest.mark.parametrize("name", ZOO)
def test_every_edge_has_its_weight_in_both_directions(name):
    graph, W = weighted(name)
    assert torch.equal(graph.weights, W[graph.receivers, graph.senders])
    assert torch.equal(graph.weights[graph.reverse], graph.weights)
    assert_close(graph.weighted_degrees, W.sum(1), 1e-14)
    plain = ZOO[name].graph()
    assert torch.equal(graph.columns, plain.columns)
    assert torch.equal(plain.weighted_degrees, plain.degrees)


@pytest.mark.parametrize("name", ["random", "lopsided", "hub"])
def test_a_part_of_a_graph_keeps_its_edges_weights(name):
    graph, W = weighted(name)
    field = ReceptiveField.around(graph, torch.tensor([0, 2]), 2)
    for part in (field.graph, field.graph.around(field.sizes[0])):
        ends = field.nodes[part.receivers], field.nodes[part.senders]
        assert torch.equal(part.weights, W[ends])


def test_weights_are_converted_once_and_keep_double_precision():
    graph, _ = weighted("path")
    assert graph.weights.dtype == torch.float64
    assert graph.weights_as(torch.float64) is graph.weights
    assert graph.weights_as(torch.float32) is graph.weights_as(torch.float32)
    assert Graph.from_edges(PATH, 4, np.ones(3, np.float32)).weights.dtype == torch.float32
    assert Graph.from_edges(PATH, 4).weights_as(torch.float32) is None


@pytest.mark.parametrize("name", ZOO)
def test_weights_enter_the_propagation_matrices_by_their_formulas(name):
    graph, W = weighted(name)
    eye = torch.eye(graph.nodes, dtype=torch.float64)
    D = torch.diag((W + eye).sum(1).rsqrt())
    assert_close(
        dense_matrix(Propagation.symmetric(graph, torch.float64)), D @ (W + eye) @ D, 1e-14
    )
    sums = W.sum(1, keepdim=True)
    mean = W / torch.where(sums > 0, sums, 1.0)
    assert_close(dense_matrix(Propagation.neighbour_mean(graph, torch.float64)), mean, 1e-14)
    assert_close(dense_matrix(Propagation.diffusion(graph, torch.float64)), W / (sums.T + 1), 1e-14)


def test_a_view_weighs_by_the_weights_of_the_whole_graph():
    graph, _ = weighted("random")
    features = SparseFeatures.from_scipy(sparse.csr_array(np.eye(graph.nodes)), torch.float64)
    view = View.around(features, graph, torch.tensor([3, 90]), 2)
    for found, whole in (
        (view.symmetric_propagation, Propagation.symmetric(graph, torch.float64)),
        (view.mean_propagation, Propagation.neighbour_mean(graph, torch.float64)),
    ):
        assert torch.equal(found.loop_weights, whole.loop_weights[view.field.nodes])
        assert torch.equal(found.edge_weights, whole.edge_weights[view.field.edge_ids])


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (0.0, r"edge 1 \(1, 2\): the weight is 0; leave the edge out"),
        (-2.0, r"edge 1 \(1, 2\): the weight is -2; it must be above 0"),
        (np.nan, r"edge 1 \(1, 2\): the weight is missing \(NaN\)"),
        (np.inf, r"edge 1 \(1, 2\): the weight is infinite"),
        (1e-20, r"edge 1 \(1, 2\): the weight is 1e-20; weights must be from 1e-15 to 1e\+15"),
    ],
)
def test_a_weight_that_no_edge_can_have_is_refused(weight, words):
    with pytest.raises(InputError, match=words):
        Graph.from_edges(PATH, 4, np.array([1.0, weight, 3.0]))


def test_weights_that_do_not_fit_the_edges_are_refused():
    with pytest.raises(InputError, match=r"one number per edge, shape \[3\]; got \[2\]"):
        Graph.from_edges(PATH, 4, np.ones(2))
    with pytest.raises(
        InputError, match="the edge between 0 and 1 is given with the weights 1 and"
    ):
        Graph.from_edges(np.array([[0, 1, 1], [1, 0, 2]]), 3, np.array([1.0, 2.0, 1.0]))


def test_an_edge_may_be_repeated_with_the_same_weight():
    animal = Specimen(3, ((0, 1), (1, 0), (0, 1), (1, 1), (1, 2)))
    graph = animal.weighted_graph(animal.weights())
    assert graph.edges == 4
