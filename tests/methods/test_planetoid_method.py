"""Planetoid: gradients against torch's, contexts against the graph, and the choice of a variant."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from agnn.data import NodeData, Split, load_dataset
from agnn.errors import InputError
from agnn.graph import adjacency
from agnn.methods import Outcome, Task
from agnn.methods._planetoid import DenseRows, Planetoid, PlanetoidI, PlanetoidT, _Table
from agnn.methods._planetoid._contexts import (
    Batches,
    Pairs,
    label_paths,
    walk_paths,
    walks,
    within,
)
from agnn.methods._planetoid._state import ContextSoftmax, Head, Start, State
from agnn.methods._planetoid._variant import Variant
from properties import assert_close, assert_same_bits


def source(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some(seed: int, *shape: int) -> torch.Tensor:
    return torch.tensor(source(seed).normal(size=shape), dtype=torch.float32, requires_grad=True)


def start_of(method: Variant, data: NodeData, seeds: tuple[int, ...] = (0,)) -> Start:
    split = data.split("fixed")
    return method.start(Task(data, (split,) * len(seeds), seeds), [*range(len(seeds))])


def test_a_context_step_descends_the_summed_loss():
    """In two replicas; the last two pairs of the second are fillings."""
    softmax = ContextSoftmax(some(0, 2, 4, 9).detach())
    h, weight = some(1, 2, 3, 4), softmax.weight.clone().requires_grad_()
    bias = softmax.bias.clone().requires_grad_()
    rows = torch.tensor([[0, 0, 1, 2, 2, 2], [2, 1, 1, 0, 0, 0]])
    contexts = torch.tensor([[3, 3, 8, 0, 1, 3], [5, 5, 4, 5, 0, 0]])
    logits = h @ weight + bias[:, None]
    for r, count in ((0, 6), (1, 4)):
        F.cross_entropy(logits[r, rows[r, :count]], contexts[r, :count], reduction="sum").backward(
            retain_graph=True
        )
    counted = torch.tensor([[1.0] * 6, [1.0] * 4 + [0.0] * 2])
    pairs = Pairs(torch.zeros(2, 3, dtype=torch.int64), rows, contexts, counted)
    found = softmax.step(h.detach(), pairs, 0.1)
    assert_close(found, 0.1 * h.grad, 1e-5)
    assert_close(softmax.weight, weight.detach() - 0.1 * weight.grad, 1e-5)
    assert_close(softmax.bias, bias.detach() - 0.1 * bias.grad, 1e-5)


def test_no_embedding_moves_by_more_than_one_in_a_batch():
    softmax = ContextSoftmax(some(0, 1, 4, 9).detach())
    pairs = Pairs(*torch.zeros(3, 1, 50, dtype=torch.int64), torch.ones(1, 50))
    move = softmax.step(some(1, 1, 50, 4).detach(), pairs, 10.0)[0]
    assert_close(move[0].norm(), torch.tensor(1.0), 1e-6)
    assert (move[1:] == 0).all()  # rows without a pair


def test_the_classifiers_loss_is_three_mean_cross_entropies_in_every_replica(toy):
    start = start_of(PlanetoidT(), toy, (0, 1))
    head, e, y = Head(start, 5), some(2, 2, 20, 5), torch.tensor(toy.labels[:20])
    loss = head.loss(start.x.select(torch.arange(20)), e, y)
    dense, total = torch.tensor(toy.features[:20].toarray()), 0.0
    for r in range(2):
        wa, wb, wo, ba, bb, bo = (each[r] for each in head.parameters)
        a, b = (dense @ wa + ba).softmax(1), (e[r] @ wb + bb).softmax(1)
        out = (torch.cat([a, b], 1) @ wo + bo).softmax(1)
        total = total + sum(F.nll_loss(each.log(), y) for each in (a, b, out))
    assert_close(loss, total, 1e-5)
    leaves = [*head.parameters, e]
    expected = torch.autograd.grad(total, leaves)
    for found, exact in zip(torch.autograd.grad(loss, leaves), expected, strict=True):
        assert_close(found, exact, 1e-4)


def dense_definition(state: State, toy: NodeData, pairs: Pairs, r: int) -> torch.Tensor:
    """The summed context loss of one replica of the inductive variant."""
    x = torch.tensor(toy.features.toarray())[pairs.nodes[r]]
    h = (x @ state.weight[r] + state.context_bias[r]).relu()
    logits = h @ state.contexts.weight[r] + state.contexts.bias[r]
    return F.cross_entropy(logits[pairs.rows[r]], pairs.contexts[r], reduction="sum")


def test_the_inductive_context_step_descends_to_the_weights_of_the_features(toy):
    state = PlanetoidI().state(start_of(PlanetoidI(), toy, (3, 4)))
    nodes = torch.tensor([[10, 12, 30], [3, 11, 20]])
    pairs = Pairs(nodes, *torch.tensor([[[0, 1, 2]] * 2, [[4, 0, 4]] * 2]), torch.ones(2, 3))
    before = state.weight.detach().clone(), state.context_bias.clone().requires_grad_()
    state.context_bias = before[1]
    loss = dense_definition(state, toy, pairs, 0) + dense_definition(state, toy, pairs, 1)
    slopes = torch.autograd.grad(loss, [state.weight, state.context_bias])
    state.context_bias = before[1].detach().clone()
    state.learn_contexts(pairs, 0.1)
    assert_close(state.weight.detach(), before[0] - 0.1 * slopes[0], 1e-5)
    assert_close(state.context_bias, before[1].detach() - 0.1 * slopes[1], 1e-5)


@pytest.mark.parametrize("method", [PlanetoidT, PlanetoidI])
def test_a_classifier_step_moves_the_embeddings_it_reads(toy, method):
    state = method().state(start_of(method(), toy))
    nodes = torch.arange(10, 30)
    x, y = start_of(method(), toy).x.select(nodes), torch.tensor(toy.labels)[nodes]
    leaves = [each.requires_grad_() for each in state.own]
    slopes = torch.autograd.grad(state.head.loss(x, state.embeddings(nodes, x), y), leaves)
    expected = [leaf.detach() - 0.1 * slope for leaf, slope in zip(leaves, slopes, strict=True)]
    for leaf in leaves:
        leaf.requires_grad_(method is PlanetoidI)
    state.learn_labels(nodes, x, y, 0.1)
    for found, exact in zip(state.own, expected, strict=True):
        assert_close(found.detach(), exact, 1e-6)


def test_dense_rows_are_the_rows_and_zeros_for_the_filling(toy):
    rows = DenseRows(start_of(PlanetoidI(), toy).x)(torch.tensor([[3, 20], [120, 7]]))
    x = np.concatenate([toy.features.toarray(), np.zeros((1, 30))])
    assert_same_bits(rows, torch.tensor(x[[[3, 20], [120, 7]]], dtype=torch.float32))


@pytest.mark.parametrize("method", [PlanetoidT, PlanetoidI])
def test_replicas_that_are_trained_together_come_out_as_alone(toy, monkeypatch, method):
    """As a GPU trains them; a CPU takes them one by one."""
    short = method(label_batches=20, walk_batches=10, epochs=40, walk_share=0.5, walks=30)
    task = Task(toy, (toy.split("fixed"),) * 3, (4, 5, 6))
    alone = short.run(task).scores
    monkeypatch.setattr(method, "replicas_at_once", lambda _self, _task: 2)
    assert_close(short.run(task).scores, alone, 1e-4)


def test_the_best_step_answers(toy, monkeypatch):
    """Were the last one kept, a classifier that is thrown off at the end would answer badly."""
    method, task = (
        PlanetoidT(label_batches=0, walk_batches=0, epochs=30),
        Task(toy, (toy.split("fixed"),), (0,)),
    )
    expected = method.run(task).scores
    learn, steps = _Table.learn_labels, []

    def thrown_off(self, *arguments):
        learn(self, *arguments)
        steps.append(1)
        if len(steps) > 30:
            self.head.biases[2].data[:, 0] += 1e3

    monkeypatch.setattr(_Table, "learn_labels", thrown_off)
    found = method.with_fields(epochs=33).run(task).scores
    assert_same_bits(found, expected)


def test_walks_go_along_edges(toy):
    graph = adjacency(toy.edges, toy.nodes)
    paths = walks(graph, np.array([10, 11, 10]), 8, source())
    assert paths.shape == (3, 9)
    assert paths[:, 0].tolist() == [10, 11, 10]
    assert (graph[paths[:, :-1].ravel(), paths[:, 1:].ravel()] == 1).all()


def pairs_of(batches: Batches, batch: int, r: int) -> list[tuple[int, int]]:
    pairs = batches[batch]
    counted = pairs.weights[r] == 1
    nodes = pairs.nodes[r][pairs.rows[r]][counted]
    return sorted(zip(nodes.tolist(), pairs.contexts[r][counted].tolist(), strict=True))


def test_contexts_are_all_pairs_within_the_window():
    """On a path of two nodes a walk has no choice: 0 1 0 1."""
    graph = adjacency(np.array([[0], [1]]), 3)
    paths = walk_paths(graph, np.array([0, 2]), 1, 1, 3, source())
    batches = Batches([paths], np.array([0, 1, 2, -1]), within(4, 2), "cpu")
    walk = [0, 1, 0, 1]
    expected = [(walk[i], walk[j]) for i in range(4) for j in range(4) if abs(i - j) <= 2]
    assert pairs_of(batches, 0, 0) == sorted(expected)
    assert batches.nodes.tolist() == [[[0, 1]]]


def test_batches_keep_every_replicas_pairs_and_drop_those_of_nodes_that_are_no_context():
    paths = [np.array([[[5, 2], [5, 5]], [[0, 1], [2, 0]]]), np.array([[[1, 5], [0, 5]]] * 2)]
    places = np.array([0, -1, 1, -1, -1, 2, -1])  # of nodes 0 to 5; 6 stands for none
    batches = Batches(paths, places, np.array([[0], [1]]), "cpu")
    found = [[pairs_of(batches, batch, r) for r in range(2)] for batch in range(2)]
    assert found == [[[(5, 1), (5, 2)], [(0, 2)]], [[(2, 0)], [(0, 2)]]]
    assert set(batches.nodes.flatten().tolist()) == {0, 2, 5, 6}


def test_every_node_with_neighbours_begins_a_walk_before_any_begins_two(toy):
    graph = adjacency(toy.edges, toy.nodes)
    active = np.flatnonzero(np.diff(graph.indptr))
    paths = walk_paths(graph, np.arange(toy.nodes), 10, 30, 1, source())
    assert paths.shape == (30, 10, 2)
    starts = paths[:, :, 0].ravel()
    for first in range(0, starts.size - active.size, active.size):
        assert sorted(starts[first : first + active.size]) == active.tolist()


def test_label_contexts_have_the_nodes_class(toy):
    train = toy.split("fixed").train
    paths = label_paths(toy.labels[train], train, 100, 5, source())
    assert paths.shape == (5, 100, 2)
    assert (toy.labels[paths[..., 0]] == toy.labels[paths[..., 1]]).all()
    assert set(paths[..., 0].ravel()) == set(paths[..., 1].ravel()) == set(train)


def test_one_class_alone_gives_no_label_contexts():
    assert label_paths(np.array([2, 2]), np.array([5, 6]), 3, 4, source()).shape == (0, 3, 2)


def test_a_graph_without_edges_gives_no_walks():
    graph = adjacency(np.zeros((2, 0), int), 5)
    assert walk_paths(graph, np.arange(5), 3, 4, 10, source()).shape == (0, 3, 11)


def test_the_inductive_variant_learns_from_no_test_node(toy):
    """Neither from its features nor from what it is near to: other edges of test nodes."""
    split, method = toy.split("fixed"), PlanetoidI()
    start = start_of(method, toy)
    state = method.state(start)
    assert (start.places[split.test] == -1).all()
    paths = np.stack([split.test, split.test], axis=1)[None]
    batches = Batches([paths], start.places, within(2, 1), "cpu")
    before = state.weight.detach().clone()
    state.learn_contexts(batches[0], 0.1)
    assert_same_bits(state.weight.detach(), before)
    assert set(method.context_nodes(toy, split)) == set(range(120)) - set(split.test)


def test_nodes_without_neighbours_start_at_zero_in_the_table(toy):
    start = start_of(PlanetoidT(), toy)
    state = PlanetoidT().state(start)
    table = state.embeddings(torch.arange(120), start.x)[0]
    assert (table[:5] == 0).all()
    assert (table[10:20] != 0).any(1).all()


def test_a_gpu_trains_as_many_replicas_at_once_as_have_room():
    pubmed = load_dataset("pubmed")
    split = pubmed.split("fixed")
    assert PlanetoidT().replicas_at_once(Task(pubmed, (split,), (0,), "cpu")) == 1
    together = PlanetoidT().replicas_at_once(Task(pubmed, (split,), (0,), "cuda"))
    assert together == 2**32 // (8 * 200 * 11 * 19717)
    assert PlanetoidT(walks=10**9).replicas_at_once(Task(pubmed, (split,), (0,), "cuda")) == 1


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
    method = Planetoid(
        width=8, walk=4, window=2, label_pretraining=0.5, walk_pretraining=3.0, walk_share=0.7,
        scale=3.0,
    )  # fmt: skip
    for variant in method.variants():
        held = (variant.width, variant.walk, variant.window, variant.scale)
        assert held == (8, 4, 2, 3.0)
        assert variant.label_batches == type(variant)().label_batches // 2
        assert variant.walk_batches == 3 * type(variant)().walk_batches
    assert [variant.walk_share for variant in method.variants()] == [0.0, 0.7]


def test_a_split_without_validation_nodes_is_refused(toy):
    split = Split("bare", [*range(20)], [], [*range(20, 60)])
    with pytest.raises(InputError, match="'bare' has no validation nodes to choose the step on"):
        PlanetoidT().run(Task(toy, (split,), (0,)))


def test_a_size_below_one_is_refused():
    with pytest.raises(InputError, match="`walk` must be at least 1; got 0"):
        PlanetoidI(walk=0)
