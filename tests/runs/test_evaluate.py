"""A run: seeds to replicas, replicas to test accuracies."""

from __future__ import annotations

import os

import pytest
import torch

from agnn.data import Split, uniform_split
from agnn.data._splits._draws import (
    k_folds,
)
from agnn.errors import InputError, UnavailableError
from agnn.metrics import replica_values
from agnn.networks import AGNN, GCN
from agnn.runs import (
    evaluate,
    find_device,
    machine,
    machine_words,
    preset_method,
    replica_seeds,
    versions,
)
from properties import assert_same_bits

QUICK = AGNN(epochs=6, layers=2)
BY_FOLD = AGNN(epochs=6, layers=2, window=1, watched="test")


def test_accuracies_are_the_share_of_right_answers_among_the_test_nodes(toy):
    splits = [uniform_split(toy, seed, (20, 40, 50)) for seed in (0, 1)]
    scores = torch.rand(2, toy.nodes, 3, generator=torch.Generator().manual_seed(0))
    for r, found in enumerate(replica_values("accuracy", scores, toy, splits)):
        answers = scores[r].argmax(1).tolist()
        right = [answers[node] == toy.labels[node] for node in splits[r].test]
        assert found == pytest.approx(100 * sum(right) / len(right))


def test_perfect_scores_are_100_percent(toy):
    scores = torch.eye(3)[torch.tensor(toy.labels)][None]
    assert replica_values("accuracy", scores, toy, [toy.split("fixed")]) == [100.0]


def test_every_seed_is_a_replica(toy):
    run = evaluate(QUICK, toy, "fixed", (3, 8))
    assert run.seeds == (3, 8)
    assert run.splits == (toy.split("fixed"),) * 2
    assert run.accuracy.n == 2
    assert run.accuracy.values == tuple(replica_values("accuracy", run.scores, toy, run.splits))
    assert (run.device, run.backend, run.split_spec) == ("cpu", "numba", "fixed")
    assert len(run.betas) == 2
    assert len(run.betas[0]) == 2
    assert all(1 <= epoch <= 6 for epoch in run.selected_epochs)
    assert run.seconds_per_replica_epoch == pytest.approx(run.seconds / 12)
    assert run.versions == versions()
    assert run.machine == machine("cpu")
    assert run.machine["threads"] == torch.get_num_threads()
    assert 1 <= run.machine["cores"] <= os.cpu_count()
    assert run.machine["processor"]


def test_a_gpu_is_named_where_the_device_is_one(monkeypatch):
    class Properties:
        name, total_memory = "NVIDIA H200", 139 * 2**30

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: Properties)
    found = machine("cuda:1")
    assert (found["gpu"], found["gpu_memory"]) == ("NVIDIA H200", 139 * 2**30)
    assert machine_words(found).startswith("NVIDIA H200 (139 GiB); ")
    assert "gpu" not in machine("cpu")


def test_seeds_draw_the_random_splits(toy):
    run = evaluate(QUICK, toy, "uniform", (3, 8))
    assert run.splits == (uniform_split(toy, 3), uniform_split(toy, 8))


@pytest.mark.parametrize("seeds", [(0,), (0, 1), (5, 2)])
def test_with_folds_every_seed_has_its_folds_and_no_two_replicas_share_a_seed(toy, seeds):
    run = evaluate(BY_FOLD, toy, "3-fold", seeds)
    assert run.splits == tuple(split for seed in seeds for split in k_folds(toy, 3, seed))
    assert run.seeds == tuple(3 * seed + k for seed in seeds for k in range(3))
    assert len(set(run.seeds)) == 3 * len(seeds)
    # A trial's accuracy is the mean of its folds, and only trials count as repetitions.
    by_fold = replica_values("accuracy", run.scores, toy, run.splits)
    trials = [sum(by_fold[k : k + 3]) / 3 for k in range(0, len(by_fold), 3)]
    assert run.accuracy.values == pytest.approx(trials)


def test_a_method_without_betas_says_so(toy):
    assert evaluate(GCN(epochs=2), toy).betas is None


def test_the_backend_asked_for_is_the_one_that_ran(toy):
    assert evaluate(QUICK, toy, backend="reference").backend == "reference"
    with pytest.raises(UnavailableError, match="backend 'triton' cannot run"):
        evaluate(QUICK, toy, backend="triton")


def test_the_same_call_gives_the_same_scores(toy):
    one, other = (evaluate(QUICK, toy, "uniform", (0, 1)).scores for _ in range(2))
    assert_same_bits(one, other)


def test_a_split_without_test_nodes_is_refused(toy):
    blind = toy.with_split(Split("blind", [10, 11, 12], [50, 51], []))
    with pytest.raises(InputError, match="test nodes"):
        evaluate(QUICK, blind, "blind")


@pytest.mark.parametrize(
    ("spec", "setting"),
    [("fixed", "fixed"), ("uniform", "random"), ("Random", "random"), ("balanced", "random"),
     ("10-fold", "cross-validation"), ("3-Fold", "cross-validation"), ("my.json", "fixed")],
)  # fmt: skip
def test_the_kind_of_split_names_the_papers_setting(spec, setting):
    assert preset_method("agnn", spec, "cora") == AGNN.preset(setting, "cora")


def test_replicas_have_consecutive_seeds():
    assert replica_seeds(5, 3) == (5, 6, 7)
    with pytest.raises(InputError, match="`replicas` must be at least 1; got 0"):
        replica_seeds(0, 0)
    with pytest.raises(InputError, match=f"`replicas` must be at most 100,000; got {10**30}"):
        replica_seeds(0, 10**30)
    with pytest.raises(InputError, match="`seed` must be at most 2"):
        replica_seeds(10**30, 1)
    with pytest.raises(InputError, match="`seed` must not be negative; got -1"):
        replica_seeds(-1, 2)


def test_devices_are_found_or_refused_by_name(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("cpu") == "cpu"
    assert find_device("auto") == "cpu"
    with pytest.raises(
        UnavailableError, match=r"'cuda' is not available: torch .* sees 0 CUDA devices"
    ):
        find_device("cuda")
    with pytest.raises(UnavailableError, match="'cuda:x' is not available"):
        find_device("cuda:x")
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        find_device("gpu")
    with pytest.raises(InputError, match="unknown device 'cdua'; known: auto, cpu, cuda"):
        find_device("cdua")


@pytest.mark.parametrize("name", ["agnn", "gcn", "gln"])
def test_nested_folds_have_the_presets_of_folds_but_choose_on_validation_nodes(name):
    plain = preset_method(name, "10-fold", "cora")
    nested = preset_method(name, "10-fold-nested", "cora")
    assert (plain.watched, nested.watched) == ("test", "validation")
    assert nested.with_fields(watched="test") == plain
