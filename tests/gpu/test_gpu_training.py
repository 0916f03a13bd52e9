"""Training on a GPU: the answers of the CPU, recorded once and replayed."""

from __future__ import annotations

import gc

import pytest
import torch
from benchmarks.synthetic import hashed_circulant, power_law

from agnn.data import NodeData
from agnn.errors import UnavailableError
from agnn.graph import Graph, SparseFeatures
from agnn.networks import (
    AGNN,
    DCNN,
    GAT,
    GCN,
    GLN,
    AGNNPlus,
    DynamicFilter,
    MoNet,
)
from agnn.runs import evaluate, find_device, preset_method
from agnn.training import Problem, ProblemSize, train
from agnn.training._captured import Captured
from properties import assert_close, assert_same_bits

GPU = "cuda"


def test_the_automatic_device_is_the_gpu():
    assert find_device("auto") == "cuda"


METHODS = [AGNN(layers=2), GCN(), GLN(), GAT(), DCNN(), MoNet(), DynamicFilter()]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_gpu_answers_as_the_cpu_does(method, cora):
    short = method.with_fields(epochs=30)
    runs = [evaluate(short, cora, "fixed", (0, 1, 2), device=each) for each in ("cpu", GPU)]
    assert runs[1].backend == "triton"
    cpu, gpu = (run.scores.cpu() for run in runs)
    assert_close(gpu, cpu, 2e-3)
    assert runs[0].accuracy.mean == pytest.approx(runs[1].accuracy.mean, abs=0.3)


@pytest.mark.parametrize("name", ["agnn", "gcn", "gln", "gat", "dcnn"])
def test_the_same_seed_gives_the_same_bits_alone_and_in_a_batch(name, cora):
    method = preset_method(name, "fixed", "cora").with_fields(epochs=60)
    first, second = (evaluate(method, cora, "fixed", (3, 4, 5), device=GPU) for _ in range(2))
    assert_same_bits(first.scores, second.scores)
    alone = evaluate(method, cora, "fixed", (4,), device=GPU)
    assert_same_bits(alone.scores[0], first.scores[1])


@pytest.mark.parametrize("name", ["monet", "dynamic_filter", "graph_cnn", "appnp", "gcnii", "sgc"])
def test_the_same_seed_gives_the_same_bits_again(name, cora):
    method = preset_method(name, "fixed", "cora").with_fields(epochs=60)
    first, second = (evaluate(method, cora, "fixed", (3, 4), device=GPU) for _ in range(2))
    assert_same_bits(first.scores, second.scores)


@pytest.mark.parametrize("every", [1, 4])
def test_replayed_epochs_are_the_epochs_that_run_as_they_stand(every, cora, monkeypatch):
    method = AGNN(layers=2, epochs=25, evaluate_every=every)
    replayed = evaluate(method, cora, "fixed", (0, 1), device=GPU)
    monkeypatch.setattr("agnn.training._loop.Captured", lambda function: function)
    plain = evaluate(method, cora, "fixed", (0, 1), device=GPU)
    assert_same_bits(replayed.scores, plain.scores)
    assert_same_bits(
        replayed.history.training_loss, plain.history.training_loss
    )  # fmt: skip
    assert_same_bits(replayed.history.betas, plain.history.betas)
    assert_same_bits(replayed.history.watched_loss, plain.history.watched_loss)
    assert torch.equal(replayed.history.selected_epochs, plain.history.selected_epochs)


def test_cross_fitted_epochs_of_which_some_are_evaluated_are_recorded_in_two_parts(
    cora, monkeypatch
):
    method = AGNNPlus(epochs=25, evaluate_every=4)
    recorded: list[Captured] = []

    def record(function):
        recorded.append(Captured(function))
        return recorded[-1]

    monkeypatch.setattr("agnn.training._loop.Captured", record)
    replayed = evaluate(method, cora, "3-fold-cross-fit", (0,), device=GPU)
    assert len(recorded) == 2
    assert not any(part.waits for part in recorded)
    assert all(part.graph is not None for part in recorded)
    monkeypatch.setattr("agnn.training._loop.Captured", lambda function: function)
    plain = evaluate(method, cora, "3-fold-cross-fit", (0,), device=GPU)
    assert_same_bits(replayed.scores, plain.scores)
    assert_same_bits(replayed.history.watched_loss, plain.history.watched_loss)
    assert torch.equal(replayed.history.selected_epochs, plain.history.selected_epochs)
    assert set(replayed.selected_epochs) <= set(range(1, 26, 4))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_an_epoch_never_makes_the_host_wait_and_is_recorded(method, cora, monkeypatch):
    seen: list[Captured] = []

    def watched(function):
        seen.append(Captured(function))
        return seen[-1]

    monkeypatch.setattr("agnn.training._loop.Captured", watched)
    evaluate(method.with_fields(epochs=5), cora, "fixed", (0,), device=GPU)
    assert not seen[0].waits
    assert seen[0].graph is not None


def test_work_that_waits_runs_as_it_stands():
    count = torch.zeros(1, device=GPU)

    def waits() -> None:
        count.add_(1)
        int(count)

    work = Captured(waits)
    for _ in range(6):
        work()
    assert work.waits
    assert work.graph is None
    assert int(count) == 6


def test_a_graph_that_does_not_fit_is_refused_in_words_before_anything_is_allocated():
    estimate = AGNN().memory_of(ProblemSize(10**9, 10**11, 128, 10))
    before = torch.cuda.memory_allocated()
    with pytest.raises(UnavailableError, match=r"training needs about .* GiB are free on cuda"):
        estimate.check(GPU)
    assert torch.cuda.memory_allocated() == before


def test_the_memory_estimate_covers_what_training_takes(toy: NodeData):
    gc.collect()  # graphs recorded by tests before this one hold memory until they are collected
    held = torch.cuda.memory_allocated()
    graph = power_law(100_000, 1_000_000, device=GPU)
    x = SparseFeatures(
        torch.arange(0, 2_000_001, 20, device=GPU),
        torch.randint(500, (2_000_000,), device=GPU, dtype=torch.int32),
        torch.rand(2_000_000, device=GPU),
        torch.arange(100_000, device=GPU),
        500,
    )
    method = AGNN(layers=4, epochs=4)
    seeds = tuple(range(8))
    labels = (torch.arange(100_000) % 3).numpy()
    split = type(toy.split("fixed"))("wide", range(60_000), range(60_000, 90_000), [])
    torch.cuda.reset_peak_memory_stats()
    model = method.build(500, 3, seeds, "triton").to(GPU)
    train(model, Problem(x, graph, labels, (split,) * 8, seeds), method.recipe())
    taken = torch.cuda.max_memory_allocated() - held
    size = ProblemSize(100_000, graph.edges, 500, 3, entries=2_000_000, replicas=8)
    estimate = method.memory_of(size).total
    assert taken <= estimate <= 3 * taken


def test_a_hashed_circulant_graph_is_symmetric_and_regular():
    graph = hashed_circulant(5_000, 12, seed=1, device=GPU)
    pairs = {(int(i), int(j)) for i, j in zip(graph.receivers, graph.senders, strict=True)}
    assert len(pairs) == graph.edges == 60_000
    assert all((j, i) in pairs and i != j for i, j in pairs)


def test_a_graph_too_large_to_prune_trains_on_leading_rows(monkeypatch, cora):
    monkeypatch.setattr("agnn.graph._graph.TOO_LARGE_TO_PRUNE", 0)
    whole = evaluate(AGNN(layers=2, epochs=20), cora, "fixed", (0,), device=GPU)
    monkeypatch.undo()
    pruned = evaluate(AGNN(layers=2, epochs=20), cora, "fixed", (0,), device=GPU)
    assert_close(whole.scores, pruned.scores, 1e-3)


def test_the_graph_is_where_the_states_are(cora):
    graph = Graph.from_edges(cora.edges, cora.nodes)
    assert graph.to(GPU).device.type == GPU


@pytest.mark.parametrize("name", ["agnn", "agnn_plus", "gat"])
def test_programs_launched_early_wait_for_their_inputs(name, cora, monkeypatch):
    method = preset_method(name, "fixed", "cora").with_fields(epochs=40)
    early = evaluate(method, cora, "fixed", (0, 1), device=GPU)
    monkeypatch.setattr("agnn.kernels._gpu.launches._most_blocks", lambda _: 0)
    after = evaluate(method, cora, "fixed", (0, 1), device=GPU)
    assert_same_bits(early.scores, after.scores)
