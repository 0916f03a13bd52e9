"""Embeddings: each by its formula on a small case, and what reads their vectors."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

from agnn.choosing import Tuned
from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.graph import Graph
from agnn.methods import Task, get_method
from agnn.methods._deepwalk import DeepWalk, enhance
from agnn.methods._embedding import EmbeddingMethod, of_unit_length, one_against_rest
from agnn.methods._graph2gauss import RankedNodes, divergence
from agnn.methods._line import weighted_pairs
from properties import assert_same_bits

NAMES = ("deepwalk", "graph2gauss", "lasagne", "line", "neu", "node2vec")


def graph_of(data: NodeData) -> Graph:
    return Graph.from_edges(data.edges, data.nodes)


@pytest.mark.parametrize("times", [0, 1, 3])
def test_neu_is_its_polynomial(times, toy):
    graph = graph_of(toy)
    a = np.zeros((toy.nodes, toy.nodes))
    a[graph.receivers, graph.senders] = 1.0
    p = a / np.maximum(a.sum(1, keepdims=True), 1.0)
    vectors = np.random.default_rng(0).normal(size=(toy.nodes, 7)).astype(np.float32)
    update = np.eye(toy.nodes) + 0.5 * p + 0.25 * p @ p
    expected = np.linalg.matrix_power(update, times) @ vectors
    assert enhance(graph, vectors, 0.5, 0.25, times) == pytest.approx(expected, abs=1e-5)


def test_neu_starts_from_deepwalks_vectors(toy):
    plain, neu = get_method("deepwalk")(), get_method("neu")(near=0.0, far=0.0)
    graph = graph_of(toy)
    assert np.array_equal(neu.vectors(toy, graph, 3), plain.vectors(toy, graph, 3))


def test_lines_pairs_are_the_edges_and_their_neighbours_edges(toy):
    graph = graph_of(toy)
    a = np.zeros((toy.nodes, toy.nodes))
    a[graph.receivers, graph.senders] = 1.0
    expected = a + a @ (a / np.maximum(a.sum(1, keepdims=True), 1.0))
    np.fill_diagonal(expected, 0.0)
    found, (pairs, weights) = np.zeros_like(a), weighted_pairs(graph)
    found[pairs[0], pairs[1]] = weights
    assert found == pytest.approx(expected)
    assert np.count_nonzero(expected) == weights.size


def test_lines_halves_have_length_one_and_differ(toy):
    first, second = np.split(get_method("line")().vectors(toy, graph_of(toy), 0), 2, axis=1)
    for half in (first, second):
        joined = graph_of(toy).degrees.numpy() > 0
        assert np.linalg.norm(half[joined], axis=1) == pytest.approx(1.0, abs=1e-5)
        assert not half[~joined].any()
    assert np.abs(first - second).max() > 0.1


def test_lines_first_order_joins_neighbours(toy):
    graph = graph_of(toy)
    first = np.split(get_method("line")().vectors(toy, graph, 0), 2, axis=1)[0]
    near = (first[graph.receivers] * first[graph.senders]).sum(1).mean()
    assert near > (first[5:] @ first[5:].T).mean() + 0.2


def test_the_divergence_is_the_one_between_gaussians():
    source = torch.Generator().manual_seed(0)
    mean, other = torch.randn(2, 5, 4, generator=source, dtype=torch.float64)
    variance, spread = torch.rand(2, 5, 4, generator=source, dtype=torch.float64) + 0.1
    i, j = (Independent(Normal(m, v.sqrt()), 1) for m, v in ((mean, variance), (other, spread)))
    found = divergence((mean, variance), (other, spread))
    assert found.numpy() == pytest.approx(kl_divergence(j, i).numpy())


def test_ranked_nodes_are_one_hop_two_steps_and_any(toy):
    graph = graph_of(toy)
    (i, one, two, _), kept = RankedNodes(graph).draw(2000, torch.Generator().manual_seed(1))
    a = torch.zeros(toy.nodes, toy.nodes, dtype=torch.bool)
    a[graph.receivers, graph.senders] = True
    nodes, kept = RankedNodes(graph).draw(2000, torch.Generator().manual_seed(1))
    assert a[i, one].all()
    assert ((a.float() @ a.float()) > 0)[i, two].all()
    further = ~(a | torch.eye(toy.nodes, dtype=torch.bool))
    assert torch.equal(kept, further[nodes[0], nodes[2:]])
    assert set(i.tolist()) == set(graph.degrees.nonzero().squeeze(1).tolist())
    assert 0 < kept[0].sum() < 2000


def test_graph2gauss_keeps_neighbours_nearer_than_strangers(toy):
    vectors = get_method("graph2gauss")(epochs=100).vectors(toy, graph_of(toy), 0)
    near = (vectors[toy.edges[0]] * vectors[toy.edges[1]]).sum(1).mean()
    assert near > (vectors[8:] @ vectors[8:].T).mean() + 0.2


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_no_bit(name, toy):
    found, threads = [], torch.get_num_threads()
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            # Unequal data objects: nothing is remembered from one to the other.
            again = toy.with_split(toy.split("fixed"))
            task = Task(again, (toy.split("fixed"),) * 4, (0, 1, 2, 3))
            found.append(get_method(name)().run(task).scores)
    finally:
        torch.set_num_threads(threads)
    assert_same_bits(*found)


def test_a_grid_embeds_once_for_all_its_classifiers(toy, monkeypatch):
    method, calls = get_method("deepwalk"), []
    vectors = method.vectors

    def counted(self, data, graph, seed):
        calls.append(seed)
        return vectors(self, data, graph, seed)

    monkeypatch.setattr(method, "vectors", counted)
    fresh = toy.with_split(toy.split("fixed"))
    scores = Tuned(method()).run(Task(fresh, (toy.split("fixed"),) * 2, (7, 8))).scores
    windows = method.grid["window"]
    # Once a window, and once more at most for the one that is chosen.
    assert 2 * len(windows) <= len(calls) <= 2 * len(windows) + 2
    assert len(Tuned(method()).candidates()) == 4 * len(windows)
    assert scores.shape == (2, toy.nodes, 3)


def test_logistic_regression_gives_an_absent_class_nothing(toy):
    known = np.flatnonzero(toy.labels != 1)[:20]
    vectors = np.random.default_rng(0).normal(size=(toy.nodes, 4)).astype(np.float32)
    scores = one_against_rest(vectors, toy, Split("two", known, [], []), 1.0)
    assert not scores[:, 1].any()
    assert scores.sum(1) == pytest.approx(1.0)
    only = np.flatnonzero(toy.labels == 2)[:5]
    alone = one_against_rest(vectors, toy, Split("one", only, [], []), 1.0)
    assert np.array_equal(alone, np.tile([0.0, 0.0, 1.0], (toy.nodes, 1)))


def test_logistic_regression_separates_what_a_line_separates(toy):
    vectors = np.eye(3, dtype=np.float32)[toy.labels]
    split = toy.split("fixed")
    answers = one_against_rest(vectors, toy, split, 100.0).argmax(1)
    assert (answers == toy.labels).all()


def test_unit_length_leaves_zeros_alone():
    assert of_unit_length(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)) == pytest.approx(
        np.array([[0.6, 0.8], [0.0, 0.0]])
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_embedding_has_the_base_class(name):
    assert issubclass(get_method(name), EmbeddingMethod)


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("deepwalk", {"penalty_inverse": 0.0}, "`penalty_inverse` must be above 0; got 0.0"),
        ("graph2gauss", {"batch": 0}, "`batch` must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(name, fields, words):
    with pytest.raises(InputError, match=words):
        get_method(name)(**fields)


# Toy data, fixed split, seeds 0 to 2: the test accuracies. Rounding on another CPU moves a few of
# the 50 nodes, most in Graph2Gauss (74 or 76 with seed 0 under other code paths); another walk,
# pair, table, rate or start moves many.
PINNED = {
    "deepwalk": [60.0, 50.0, 54.0],
    "graph2gauss": [68.0, 72.0, 78.0],
    "lasagne": [56.0, 54.0, 52.0],
    "line": [46.0, 48.0, 46.0],
    "neu": [62.0, 62.0, 56.0],
    "node2vec": [58.0, 60.0, 56.0],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_run_on_toy_data_ends_where_it_ended(name, toy):
    split = toy.split("fixed")
    answers = get_method(name)().run(Task(toy, (split,) * 3, (0, 1, 2))).scores.argmax(2).numpy()
    found = 100 * (answers == toy.labels)[:, split.test].mean(1)
    assert found.mean() == pytest.approx(np.mean(PINNED[name]), abs=4.0)
    assert found == pytest.approx(PINNED[name], abs=10.0)


def test_vectors_are_forgotten_with_their_data(toy):
    data = replace(toy)
    DeepWalk(walks_per_node=1).run(Task(data, (data.split("fixed"),), (0,)))
    gone = weakref.ref(data)
    del data
    gc.collect()
    assert gone() is None
