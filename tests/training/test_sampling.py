"""Training on sampled neighbourhoods: its definition, its limit, and what does not change it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from agnn import NodeClassifier, evaluate
from agnn.data import uniform_split
from agnn.errors import InputError, StoppedError
from agnn.graph import Graph, SampledView, features_of
from agnn.kernels import Dropout
from agnn.methods import get_method
from agnn.networks import AGNNPlus
from agnn.training import Callback, Checkpoints, LastEpoch, Problem, ProblemSize, Recipe, train
from agnn.training._sampling import SampledBatches
from built_models import AGNN, GCN, GLN
from properties import CPU_BACKENDS, assert_close, assert_same_bits, dense_attention, left_behind

SAMPLED = ("agnn", "agnn_plus", "gcn", "gcnii", "gln")
SMALL = {"agnn_plus": {"strength": 0.0, "layers": 3}, "gcnii": {"layers": 4, "hidden": 16}}


def problem_of(data, seeds=(0,), weights=None) -> Problem:
    graph = Graph.from_edges(data.edges, data.nodes, weights)
    features = features_of(data.scaled_features("sum"), torch.float64)
    return Problem(features, graph, data.labels, [data.split("fixed")] * len(seeds), seeds)


def sampled(
    problem: Problem, fanout: tuple[int, ...], step: int = 0, size: int = 12
) -> SampledView:
    batches = SampledBatches.of(problem, Recipe(batch=size, fanout=fanout))
    return batches.view(torch.from_numpy(np.sort(problem.splits[0].train[:size])), step)


def dense_blocks(view: SampledView) -> list[tuple[Tensor, Tensor]]:
    """Per layer: how often input j counts for receiver i, [rows, inputs], the row itself once.

    And the degrees of the inputs in the whole graph.
    """
    found = []
    for block in view.blocks:
        graph, inputs = block.graph, block.graph.nodes - block.copies.numel()
        times = torch.zeros(block.rows, inputs, dtype=torch.float64)
        weights = graph.weights_as(torch.float64)
        for e in range(graph.edges_of(block.rows)):
            sender = int(graph.columns[e])
            j = sender if sender < inputs else int(block.copies[sender - inputs])
            times[int(graph.receivers[e]), j] = 1.0 if weights is None else weights[e]
        found.append((times, block.degrees[:inputs].to(torch.float64)))
    return found


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("kind", [GCN, GLN])
@pytest.mark.parametrize("fanout", [(2, 1), (3, 4), (50, 50)])
def test_convolutions_on_a_sample_are_those_of_dense_matrices(toy, kind, fanout, backend):
    problem = problem_of(toy)
    view = sampled(problem, fanout)
    model = kind(problem.features.width, 3, (0, 1), backend=backend).double()
    x = torch.from_numpy(toy.scaled_features("sum").toarray()).double()[view.field.nodes]
    matrices = []
    for times, degrees in dense_blocks(view):
        scale = (degrees + 1).rsqrt()
        own = torch.eye(*times.shape, dtype=torch.float64)
        matrices.append((times + own) * scale[: len(times), None] * scale)
    middle = matrices[0] @ x @ model.first.weight
    middle = middle.relu() if kind is GCN else middle
    assert_same_slopes(model, view, matrices[1] @ middle @ model.last.weight)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("fanout", [(2, 1), (3, 4), (50, 50)])
def test_attention_on_a_sample_is_that_of_dense_matrices(toy, fanout, is_weighted, backend):
    weights = np.linspace(0.5, 2.0, toy.edges.shape[1]) if is_weighted else None
    problem = problem_of(toy, weights=weights)
    view = sampled(problem, fanout)
    model = AGNN(problem.features.width, 3, (0,), backend=backend).double()
    x = torch.from_numpy(toy.scaled_features("sum").toarray()).double()[view.field.nodes]
    h = (x @ model.first.weight[0] + model.first.bias[0]).relu()
    for (times, _), layer in zip(dense_blocks(view), model.layers, strict=True):
        rows, own = len(times), torch.eye(*times.shape, dtype=torch.float64)
        square = torch.zeros(len(h), len(h), dtype=torch.float64)
        square[:rows] = times + own
        square[rows:, rows:] = torch.eye(len(h) - rows, dtype=torch.float64)
        h = (dense_attention(square > 0, h, layer.beta[0], square) @ h)[:rows]
    assert_same_slopes(model, view, (h @ model.last.weight[0] + model.last.bias[0])[None])


def assert_same_slopes(model, view: SampledView, expected: Tensor) -> None:
    """The logits, and the gradients of all parameters."""
    found = model(view)
    assert_close(found, expected, 1e-12)
    parameters = list(model.parameters())
    g = torch.randn(found.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    slopes = torch.autograd.grad(found, parameters, g)
    for one, other in zip(slopes, torch.autograd.grad(expected, parameters, g), strict=True):
        assert_close(one, other, 1e-10)


def test_a_layer_has_its_own_sample_of_every_node_and_so_many_neighbours(toy):
    problem = problem_of(toy)
    view = sampled(problem, (3, 2))
    last, first = view.blocks[1], view.blocks[0]
    degrees = problem.graph.degrees[view.field.nodes]
    for block, fanout in ((last, 3), (first, 2)):
        counts = block.graph.degrees[: block.rows]
        assert torch.equal(counts, degrees[: block.rows].clamp(max=fanout))
        times = degrees[: block.rows] / counts.clamp(min=1)
        weights = block.graph.weights_as(torch.float64)[: int(counts.sum())]
        assert_close(weights, torch.repeat_interleave(times, counts).double(), 1e-6)
    again = sampled(problem, (3, 2), step=1)
    assert again.field.sizes != view.field.sizes or not torch.equal(
        again.blocks[1].graph.columns, last.graph.columns
    )


def test_a_linear_network_on_samples_is_right_on_average(toy):
    """400 samples: the mean of GLN's logits within 5 standard errors of those on the graph."""
    problem = problem_of(toy)
    model = GLN(problem.features.width, 3, (0,)).double()
    with torch.no_grad():
        found = torch.stack([model(sampled(problem, (2, 2), k))[0] for k in range(400)])
        exact = model(sampled(problem, (1000, 1000)))[0]
    error = found.std(0) / 20
    assert ((found.mean(0) - exact).abs() <= 5 * error + 1e-12).all()
    assert float(found.std(0).max()) > 0.01 * float(exact.abs().max())


@pytest.mark.parametrize("name", SAMPLED)
def test_all_neighbours_and_one_batch_are_exact_training(toy, name):
    changes = {"epochs": 6, **SMALL.get(name, {})}
    exact = evaluate(name, toy, "fixed", replicas=2, changes=changes)
    largest = int(Graph.of(toy).degrees.max())
    limit = evaluate(
        name, toy, "fixed", replicas=2, changes={**changes, "batch": 20, "fanout": (largest,)}
    )
    assert_close(limit.history.training_loss, exact.history.training_loss, 1e-5)
    assert_close(limit.history.watched_loss, exact.history.watched_loss, 1e-5)
    assert_close(limit.scores, exact.scores, 1e-4)
    fewer = evaluate(
        name, toy, "fixed", replicas=2, changes={**changes, "batch": 20, "fanout": (1,)}
    )
    assert float((fewer.scores - exact.scores).abs().max()) > 1e-3


def test_class_weights_hold_in_a_batch_as_on_all_nodes(toy):
    changes = {"epochs": 4, "batch": 20, "fanout": (1000,)}
    found, exact = (
        evaluate(
            "gcn", toy, "fixed", changes=each, class_weight={"red": 5.0, "green": 1.0, "blue": 1.0}
        )
        for each in (changes, {"epochs": 4})
    )
    assert_close(found.history.training_loss, exact.history.training_loss, 1e-5)


@pytest.mark.parametrize("name", SAMPLED)
def test_same_seed_same_bits_alone_or_among_others_for_any_number_of_threads(toy, name):
    changes = {"epochs": 3, "batch": 8, "fanout": (3,), **SMALL.get(name, {})}
    both = evaluate(name, toy, "fixed", replicas=2, changes=changes)
    torch.set_num_threads(4)
    assert_same_bits(evaluate(name, toy, "fixed", replicas=2, changes=changes).scores, both.scores)
    alone = evaluate(name, toy, "fixed", seeds=(1,), changes=changes)
    assert_same_bits(alone.scores[0], both.scores[1])
    assert not torch.equal(both.scores[0], both.scores[1])


def test_every_training_node_is_in_one_batch_of_an_epoch_in_an_order_of_its_own(toy):
    problem = replace(problem_of(toy, (0, 1)), splits=[uniform_split(toy, seed) for seed in (0, 1)])
    batches = SampledBatches.of(problem, Recipe(batch=7, fanout=(2, 2)))
    first, second = ([each.nodes for each in batches.epoch(k, 0)] for k in (1, 2))
    for r, split in enumerate(problem.splits):
        for epoch in (first, second):
            seen = torch.cat([nodes[r].unique() for nodes in epoch]).sort().values
            assert seen.tolist() == sorted(split.train.tolist())
    assert any(not torch.equal(a, b) for a, b in zip(first, second, strict=True))


class Stop(Callback):
    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints

    def epoch(self, report):
        if report.epoch == 3:
            self.checkpoints.request_stop()


def test_a_stopped_training_goes_on_with_the_same_bits(toy, tmp_path):
    changes = {"epochs": 6, "batch": 8, "fanout": (2, 2)}
    whole = evaluate("gcn", toy, "fixed", changes=changes)
    first = Checkpoints(tmp_path / "it", every=0)
    with pytest.raises(StoppedError, match="after epoch 3"):
        evaluate("gcn", toy, "fixed", changes=changes, checkpoints=first, callbacks=[Stop(first)])
    rest = Checkpoints(tmp_path / "it", resume=True)
    assert_same_bits(
        evaluate("gcn", toy, "fixed", changes=changes, checkpoints=rest).scores, whole.scores
    )


def test_a_hundred_steps_leave_nothing_behind(toy):
    problem = problem_of(toy)
    model, steps = GCN(problem.features.width, 3, (0,)).double(), iter(range(1000))

    def step() -> None:
        out = model(sampled(problem, (3, 2), next(steps)))
        torch.autograd.grad(out.sum(), list(model.parameters()))

    assert left_behind(step) == (0, 0, 0)


def test_patience_ends_it_and_replicas_leave_the_batch(toy):
    changes = {"epochs": 300, "batch": 8, "fanout": (2,), "stop_after": 3, "learning_rate": 0.3}
    run = evaluate("agnn", toy, "fixed", replicas=3, changes=changes)
    assert run.history.training_loss.shape[0] < 300


def test_what_cannot_be_sampled_is_refused_in_one_line(toy):
    for name, changes, words in (
        ("gat", {"batch": 8, "fanout": (2,)}, ": its link AdditiveAttention has no form"),
        ("gcn", {"batch": 8}, "`batch` needs `fanout`, the neighbours"),
        ("gcn", {"fanout": (2,)}, "`fanout` needs `batch`, the training nodes of a step"),
        ("gcn", {"batch": 0, "fanout": (2,)}, "`batch` must be at least 1; got 0"),
        ("gcn", {"batch": 8, "fanout": (2, 0)}, "at least 1 for every hop; got 0"),
        ("gcn", {"batch": 8, "fanout": (2, 2, 2)}, "3 numbers, and gcn here 2 propagation layers"),
        ("agnn_plus", {"batch": 8, "fanout": (2,)}, "strength=0 only"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            evaluate(name, toy, "fixed", changes=changes)
    model = get_method("gat")().build(30, 3, (0,), "auto").double()
    with pytest.raises(InputError, match="AdditiveAttention has no form for sampled"):
        model(sampled(problem_of(toy), (2, 2)), Dropout((0,), (0.0,)))
    gcn = get_method("gcn")().build(30, 3, (0,), "auto").double()
    with pytest.raises(InputError, match="`fanout` has 1 numbers, and the model 2 propagation"):
        train(gcn, problem_of(toy), Recipe(batch=8, fanout=(2,), selection=LastEpoch()))


def test_an_estimator_takes_batches_and_fanouts(toy):
    parameters = {"epochs": 3, "batch": 8, "fanout": (3, 2)}
    classifier = NodeClassifier("gcn", parameters=parameters, replicas=2).fit(toy)
    assert classifier.run_.method.fanout == (3, 2)
    assert classifier.predict_proba().shape == (toy.nodes, 3)


def test_the_default_method_leaves_consistency_out(toy):
    run = evaluate(None, toy, "fixed", changes={"epochs": 2, "batch": 8, "fanout": (3,)})
    assert isinstance(run.method, AGNNPlus)
    assert run.method.strength == 0.0


def test_a_run_on_samples_is_saved_and_loaded(toy, tmp_path):
    import agnn

    run = evaluate("gcn", toy, "fixed", changes={"epochs": 2, "batch": 8, "fanout": (2, 3)})
    run.save(tmp_path / "run")
    again = agnn.load_run(tmp_path / "run")
    assert again.method == run.method
    assert_close(again.scores, run.scores, 1e-6)


def test_less_memory_is_asked_for():
    whole, part = (
        AGNNPlus(hidden=64, strength=0).memory_of(
            ProblemSize(10**6, 10**7, 32, 8, step_nodes=nodes)
        )
        for nodes in (None, 10**5)
    )
    assert part.total < whole.total / 2
