"""Approximate personalised PageRank: the closed form, from below, as near as was asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.methods import _lasagne
from agnn.methods._lasagne import LASAGNE, personal_pagerank
from zoo import ZOO, zoo_graph


def closed_form(graph: Graph, alpha: float) -> np.ndarray:
    """alpha (I - (1 - alpha) P)^-1 with P = D^-1 A; [n, n]."""
    a = np.zeros((graph.nodes, graph.nodes))
    a[graph.receivers, graph.senders] = 1.0
    p = a / np.maximum(a.sum(1, keepdims=True), 1.0)
    return alpha * np.linalg.inv(np.eye(graph.nodes) - (1.0 - alpha) * p)


def as_matrix(nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    dense = np.zeros((len(nodes), len(nodes)))
    np.add.at(dense, (np.arange(len(nodes))[:, None], nodes), weights)
    return dense


@pytest.mark.parametrize("specimen", [name for name in ZOO if ZOO[name].nodes <= 20])
def test_with_a_small_tolerance_it_is_the_closed_form(specimen):
    graph = zoo_graph(specimen)
    found = as_matrix(*personal_pagerank(graph, 0.2, 1e-8, graph.nodes))
    exact = closed_form(graph, 0.2)
    np.fill_diagonal(exact, 0.0)  # a node is not its own context
    assert found == pytest.approx(exact, abs=1e-6)


def test_it_stays_below_the_closed_form_by_less_than_was_left(cora_graph):
    """What is left at j is under tolerance * degree, and would spread by the closed form."""
    graph, tolerance = cora_graph, 1e-3
    found = as_matrix(*personal_pagerank(graph, 0.3, tolerance, graph.nodes))
    exact = closed_form(graph, 0.3)
    np.fill_diagonal(exact, 0.0)
    short = exact - found
    assert short.min() > -1e-12
    # Sum over j of d_j exact[j, k] is d_k on an undirected graph: the classical bound.
    assert (short <= tolerance * graph.degrees.numpy()[None] + 1e-12).all()
    assert short.max() > 1e-4


def test_the_highest_are_kept_in_order(cora_graph):
    every, all_weights = personal_pagerank(cora_graph, 0.15, 1e-3, 500)
    nodes, weights = personal_pagerank(cora_graph, 0.15, 1e-3, 5)
    assert np.array_equal(weights, all_weights[:, :5])
    assert np.array_equal(nodes, every[:, :5])
    assert (np.diff(all_weights, axis=1) <= 0).all()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"alpha": 0.0}, "`alpha` must be above 0 and at most 1; got 0.0"),
        ({"tolerance": 0.0}, "`tolerance` must be above 0; got 0.0"),
        ({"contexts": 0}, "`contexts` must be at least 1; got 0"),
    ],
)
def test_what_has_no_answer_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        LASAGNE(**fields)


def test_all_seeds_share_the_contexts_of_their_data(toy, monkeypatch):
    calls = []

    def count(*arguments):
        calls.append(arguments)
        return personal_pagerank(*arguments)

    monkeypatch.setattr(_lasagne, "personal_pagerank", count)
    toy = replace(toy)  # whose contexts no other test has asked for
    graph = Graph.of(toy)
    method = LASAGNE(samples_per_node=5, width=4)
    one = method.vectors(toy, graph, 0)
    other = method.vectors(toy, graph, 1)
    assert len(calls) == 1
    assert not np.array_equal(one, other)
    replace(method, contexts=3).vectors(toy, graph, 0)
    assert len(calls) == 2
