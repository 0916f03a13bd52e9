"""Relevance against its definition, Eq. (8) and (9) of the paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.explanation import Relevance
from agnn.explanation._relevance import class_relevance, edge_relevance
from agnn.graph import Graph, SparseFeatures, View
from agnn.kernels import (
    Attention,
)
from agnn.kernels._cosine_attention import attention_weights
from agnn.networks._layers import Beta
from built_models import AGNN, GCN
from toy_runs import run_of

if TYPE_CHECKING:
    from agnn.data import NodeData


def dense_attention(graph: Graph, attention: Attention) -> Tensor:
    P = torch.diag_embed(attention.loops)
    P[:, graph.receivers, graph.senders] = attention.edges
    return P.mean(0).double()


def dense_definition(P: Tensor, adjacency: Tensor, y: Tensor, c1: int, c2: int) -> Tensor:
    even = 1 / adjacency.double().sum(1, keepdim=True)  # the node itself is in the adjacency
    R = (P - even) / even
    S = adjacency & (y[:, None] == c1) & (y[None, :] == c2)
    return R[S].mean()


@pytest.fixture
def graph(toy: NodeData) -> Graph:
    return Graph.from_edges(toy.edges, toy.nodes)


@pytest.fixture
def attention(graph: Graph) -> Attention:
    h = torch.from_numpy(np.random.default_rng(0).standard_normal((3, graph.nodes, 5)))
    return attention_weights(graph, h, torch.tensor([0.5, 2.0, 4.0], dtype=torch.float64))


def test_class_relevance_is_the_definition(graph: Graph, attention: Attention) -> None:
    labels = np.random.default_rng(1).integers(-1, 3, graph.nodes)  # -1: no label
    adjacency = torch.eye(graph.nodes, dtype=torch.bool)
    adjacency[graph.receivers, graph.senders] = True
    P, y = dense_attention(graph, attention), torch.tensor(labels)
    found = class_relevance(graph, attention, labels, 3)
    for c1 in range(3):
        for c2 in range(3):
            expected = dense_definition(P, adjacency, y, c1, c2)
            torch.testing.assert_close(found[c1, c2], expected, rtol=1e-10, atol=1e-12)
    assert (found - found.T).abs().max() > 1e-3, (
        "a symmetric table could not tell rows from columns"
    )


def test_even_attention_has_no_relevance(graph: Graph) -> None:
    h = torch.from_numpy(np.random.default_rng(2).standard_normal((1, graph.nodes, 5)))
    even = attention_weights(graph, h, torch.zeros(1, dtype=torch.float64))
    edges, loops = edge_relevance(graph, even)
    assert edges.abs().max() < 1e-12
    assert loops.abs().max() < 1e-12


def test_three_nodes_by_hand() -> None:
    """Node 1 sits between 0 and 2. It gives 1/2 to node 0, 1/4 to itself and 1/4 to node 2."""
    path = Graph.from_edges(np.array([[0, 1], [1, 2]]), 3)
    edges = torch.tensor([[0.25, 0.5, 0.25, 1.0]])  # 0<-1, 1<-0, 1<-2, 2<-1
    attention = Attention(edges, torch.tensor([[0.75, 0.25, 0.0]]))
    found = edge_relevance(path, attention)
    torch.testing.assert_close(found.edges, torch.tensor([[-0.5, 0.5, -0.25, 1.0]]))
    torch.testing.assert_close(found.loops, torch.tensor([[0.5, -0.25, -1.0]]))
    table = class_relevance(path, attention, np.array([0, 1, 1]), 3)
    assert table[0, 0].item() == 0.5  # the loop of node 0
    assert table[0, 1].item() == -0.5  # 0<-1
    assert table[1, 0].item() == 0.5  # 1<-0
    assert table[1, 1].item() == pytest.approx((-0.25 + 1.0 - 0.25 - 1.0) / 4)
    assert all(math.isnan(value) for value in table[2].tolist()), "no node has class 2"


def test_replicas_are_averaged(graph: Graph, attention: Attention) -> None:
    labels = np.arange(graph.nodes) % 2
    each = [
        class_relevance(graph, Attention(edges[None], loops[None]), labels, 2)
        for edges, loops in zip(*attention, strict=True)
    ]
    torch.testing.assert_close(
        class_relevance(graph, attention, labels, 2), torch.stack(each).mean(0)
    )


def test_a_model_s_relevance_has_a_table_a_layer_made_from_its_attention(toy: NodeData) -> None:
    model = AGNN(30, 3, (0, 1), betas=(Beta(0.0, learned=False), Beta(3.0)), hidden=4)
    first, second = Relevance.of(run_of(model, toy)).by_class()
    graph = Graph.from_edges(toy.edges, toy.nodes)
    features = SparseFeatures.from_scipy(toy.scaled_features("sum"))
    last = model.attentions(View.whole(features, graph, 2))[-1]
    assert first.abs().max() < 1e-6, "beta 0 attends evenly"
    torch.testing.assert_close(second, class_relevance(graph, last, toy.labels, 3))
    assert second.abs().max() > 1e-3


def test_a_model_without_attention_is_refused(toy: NodeData) -> None:
    with pytest.raises(
        InputError, match=r"relevance is defined for attention, which GCN does not learn\."
    ):
        Relevance.of(run_of(GCN(30, 3), toy)).by_class()


def test_the_mean_over_replicas_is_that_of_their_relevances(toy: NodeData) -> None:
    betas = (Beta(1.0), Beta(3.0))
    run = run_of(AGNN(30, 3, (0, 1, 2), betas=betas, hidden=4), toy)
    for layer, table in enumerate(Relevance.of(run).by_class(), start=1):
        each = Relevance.of(run).by_replica(layer)
        assert each.shape == (3, 3, 3)
        torch.testing.assert_close(each.mean(0), table)
    with pytest.raises(InputError, match="`layer` must be from 1 to 2; got 3"):
        Relevance.of(run).by_replica(3)
