"""Planetoid: gradients against torch's, contexts against the graph, and the choice of a variant."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from agnn.data import Split
from agnn.errors import InputError
from agnn.graph import adjacency
from agnn.methods import Outcome, Planetoid, PlanetoidI, PlanetoidT, Task
from agnn.methods.planetoid.context_softmax import ContextSoftmax
from agnn.methods.planetoid.contexts import label_pairs, walk_pairs, walks
from agnn.methods.planetoid.head import Head
from properties import assert_close, assert_same_bits


def source(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_context_step_descends_the_summed_loss():
    softmax = ContextSoftmax(4, 9, source())
    h = torch.tensor(source(1).normal(size=(3, 4)), dtype=torch.float32, requires_grad=True)
    rows, contexts = torch.tensor([0, 0, 1, 2, 2, 2]), torch.tensor([3, 3, 8, 0, 1, 3])
    weight = softmax.weight.clone().requires_grad_()
    bias = softmax.bias.clone().requires_grad_()
    F.cross_entropy((h @ weight + bias)[rows], contexts, reduction="sum").backward()
    found = softmax.step(h.detach().numpy(), rows.numpy(), contexts.numpy(), 0.1)
    assert_close(torch.from_numpy(found), h.grad, 1e-5)
    assert_close(softmax.weight, weight.detach() - 0.1 * weight.grad, 1e-5)
    assert_close(softmax.bias, bias.detach() - 0.1 * bias.grad, 1e-5)


def test_the_classifiers_gradients_are_torchs(toy):
    head = Head(30, 5, 3, source())
    x = toy.features[:20]
    e = torch.tensor(source(1).normal(size=(20, 5)), dtype=torch.float32, requires_grad=True)
    y = torch.tensor(toy.labels[:20])
    parameters = [torch.tensor(p, requires_grad=True) for p in (*head.weights, *head.biases)]
    (wa, wb, wo, ba, bb, bo), dense = parameters, torch.tensor(x.toarray())
    a, b = (dense @ wa + ba).softmax(1), (e @ wb + bb).softmax(1)
    out = (torch.cat([a, b], 1) @ wo + bo).softmax(1)
    sum(F.nll_loss(each.log(), y) for each in (a, b, out)).backward()
    gradients, at_e = head.gradients(x, e.detach().numpy(), np.eye(3, dtype=np.float32)[y])
    for found, parameter in zip([*gradients, at_e], [*parameters, e], strict=True):
        assert_close(torch.from_numpy(found), parameter.grad, 1e-4)


def test_walks_go_along_edges(toy):
    graph = adjacency(toy.edges, toy.nodes)
    paths = walks(graph, np.array([10, 11, 10]), 8, source())
    assert paths.shape == (3, 9)
    assert paths[:, 0].tolist() == [10, 11, 10]
    assert (graph[paths[:, :-1].ravel(), paths[:, 1:].ravel()] == 1).all()


def test_contexts_are_all_pairs_within_the_window():
    """On a path of two nodes a walk has no choice: 0 1 0 1."""
    graph = adjacency(np.array([[0], [1]]), 3)
    nodes, contexts = next(walk_pairs(graph, np.array([0, 2]), 1, 3, 2, source()))
    walk = [0, 1, 0, 1]
    expected = [(walk[i], walk[j]) for i in range(4) for j in range(4) if abs(i - j) <= 2]
    assert sorted(zip(nodes.tolist(), contexts.tolist(), strict=True)) == sorted(expected)


def test_every_node_with_neighbours_begins_a_walk_before_any_begins_two(toy):
    graph = adjacency(toy.edges, toy.nodes)
    batches = walk_pairs(graph, np.arange(toy.nodes), 10, 1, 0, source())
    active = np.flatnonzero(np.diff(graph.indptr))
    drawn = [set(nodes) for nodes, _ in islice(batches, -(-active.size // 10))]
    assert set(active.tolist()) <= set().union(*drawn)


def test_label_contexts_have_the_nodes_class(toy):
    train = toy.split("fixed").train
    nodes, contexts = next(label_pairs(toy.labels[train], train, 500, source()))
    assert (toy.labels[nodes] == toy.labels[contexts]).all()
    assert set(nodes) == set(contexts) == set(train)


def test_one_class_alone_gives_no_label_contexts():
    assert list(label_pairs(np.array([2, 2]), np.array([5, 6]), 3, source())) == []


def test_the_inductive_variant_learns_from_no_test_node(toy):
    """Neither from its features nor from what it is near to: other edges of test nodes."""
    split = toy.split("fixed")
    method = PlanetoidI(epochs=5, label_batches=5, walk_batches=5)
    state = method.state(toy, toy.features, split, source())
    assert (state.place[split.test] == -1).all()
    before = state.weight.copy()
    state.learn_contexts((split.test, split.test), 0.1)
    assert (state.weight == before).all()
    assert set(method.context_nodes(toy, split)) == set(range(120)) - set(split.test)


def test_nodes_without_neighbours_start_at_zero_in_the_table(toy):
    state = PlanetoidT().state(toy, toy.features, toy.split("fixed"), source())
    assert (state.embeddings(np.arange(5)) == 0).all()
    assert (state.embeddings(np.arange(10, 20)) != 0).any(1).all()


@pytest.mark.parametrize("better", [0, 1])
def test_each_replica_is_answered_by_the_better_variant(toy, monkeypatch, better):
    split = toy.split("fixed")
    right = torch.eye(3)[torch.tensor(toy.labels)].expand(2, -1, -1)
    wrong = right.roll(1, dims=2)
    for place, variant in enumerate((PlanetoidT, PlanetoidI)):
        # The first replica's better variant is the second one's worse.
        scores = torch.stack([right[0], wrong[1]] if place == better else [wrong[0], right[1]])
        monkeypatch.setattr(variant, "run", lambda _self, _task, found=scores: Outcome(found))
    found = Planetoid().run(Task(toy, (split, split), (0, 1))).scores
    assert_same_bits(found, right.contiguous())


def test_both_variants_have_the_methods_fields():
    method = Planetoid(width=8, walk=4, window=2, label_pretraining=0.5, walk_share=0.7, scale=3.0)
    for variant in method.variants():
        held = (variant.width, variant.walk, variant.window, variant.scale)
        assert held == (8, 4, 2, 3.0)
        assert variant.label_batches == type(variant)().label_batches // 2
    assert [variant.walk_share for variant in method.variants()] == [0.0, 0.7]


def test_a_split_without_validation_nodes_is_refused(toy):
    split = Split("bare", [*range(20)], [], [*range(20, 60)])
    with pytest.raises(InputError, match="'bare' has no validation nodes to choose the step on"):
        PlanetoidT().run(Task(toy, (split,), (0,)))


def test_a_size_below_one_is_refused():
    with pytest.raises(InputError, match="`walk` must be at least 1; got 0"):
        PlanetoidI(walk=0)
