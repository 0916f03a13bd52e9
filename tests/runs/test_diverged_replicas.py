"""Replicas that diverge are named, and those without usable weights count nowhere."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import fmean

import pytest
import torch

from agnn.cli import main
from agnn.errors import DataError
from agnn.estimator import NodeClassifier
from agnn.methods import NetworkMethod, Outcome, get_method
from agnn.metrics import replica_values
from agnn.report import run_facts
from agnn.runs import evaluate, load_run, save_run

METHOD = get_method("agnn")(epochs=10, layers=2)


@pytest.fixture
def diverging(monkeypatch):
    """Trainings of which replicas diverge: their epochs, and those whose weights are unusable."""

    def at(epochs, unusable):
        original = NetworkMethod.run

        def run(self, task):
            found = original(self, task)
            selected = found.history.selected_epochs.clone()
            selected[list(unusable)] = 0
            history = replace(
                found.history, diverged_epochs=torch.tensor(epochs), selected_epochs=selected
            )
            scores = found.scores.clone()
            scores[list(unusable)] = 1 / scores.shape[2]
            return Outcome(scores, found.model, history)

        monkeypatch.setattr(NetworkMethod, "run", run)

    return at


def test_an_unusable_replica_is_left_out_of_the_accuracy_and_of_every_measure(diverging, toy):
    diverging([0, 3, 7, 0], [1])
    run = evaluate(METHOD, toy, "fixed", seeds=(0, 1, 2, 3))
    values = replica_values("accuracy", run.scores, toy, run.splits)
    assert run.accuracy.values == (values[0], values[2], values[3])
    assert run.measure("accuracy").values == run.accuracy.values
    assert run.measure("f1").n == 3
    assert run.unusable.tolist() == [False, True, False, False]
    assert run.members.tolist() == [0, 3]
    assert run.diverged_epochs == [0, 3, 7, 0]
    assert run.warnings[0] == (
        "2 of 4 replicas diverged, from epoch 3 to 7, and the ensemble leaves them out; 1 had no "
        "finite weights to keep, so the accuracy leaves it out. Use a lower learning rate, and "
        "check the scale of the features."
    )


def test_a_trial_is_the_mean_of_its_usable_folds(diverging, toy):
    diverging([0, 2, 0, 1, 1, 1], [1, 3, 4, 5])
    run = evaluate(METHOD, toy, "stratified-3-fold", seeds=(0, 1))
    values = replica_values("accuracy", run.scores, toy, run.splits)
    assert run.accuracy.values == pytest.approx([fmean([values[0], values[2]])])


def test_the_baselines_are_compared_with_the_usable_replicas(diverging, toy):
    expected = evaluate(METHOD, toy, "fixed", seeds=(0,)).baselines
    diverging([0, 3], [1])
    assert evaluate(METHOD, toy, "fixed", seeds=(0, 1)).baselines == expected


def test_folder_card_and_report_agree(diverging, toy, tmp_path):
    diverging([0, 3, 0], [1])
    run = evaluate(METHOD, toy, "fixed", seeds=(0, 1, 2))
    save_run(run, tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.accuracy == run.accuracy
    assert again.unusable.tolist() == [False, True, False]
    assert again.warnings[0] == run.warnings[0]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["diverged_epochs"] == [0, 3, 0]
    card = (tmp_path / "run" / "README.md").read_text()
    assert "Warning: 1 of 3 replicas diverged, at epoch 3" in card
    assert "Test accuracy of one replica" in card
    assert "(n = 2)" in card
    facts = run_facts(run)
    assert facts.warnings[0] == run.warnings[0]
    assert {each.replicas.n for each in facts.by_class} == {2}
    assert NodeClassifier.load(tmp_path / "run").replicas == 3


def test_a_folder_whose_accuracies_do_not_fit_is_damaged(toy, tmp_path):
    run = evaluate(METHOD, toy, "fixed", seeds=(0, 1))
    history = replace(run.history, diverged_epochs=torch.tensor([0, 3]))
    history.selected_epochs[1] = 0
    save_run(replace(run, history=history), tmp_path / "run")
    with pytest.raises(DataError, match="it has 2 accuracies for 2 replicas"):
        load_run(tmp_path / "run")


def test_train_warns_with_the_epoch_in_words_and_json(diverging, capsys):
    diverging([0, 4], [1])
    line = ["train", "cora", "--epochs", "3", "--replicas", "2", "--quiet"]
    assert main(line) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "warning 1 of 2 replicas diverged, at epoch 4, and the ensemble leaves it out" in printed
    assert "(one replica)" in printed
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["diverged_epochs"] == [0, 4]
    assert found["warnings"][0].startswith("1 of 2 replicas diverged, at epoch 4")
    assert found["accuracy"]["n"] == 1


def test_train_without_a_usable_replica_is_one_line(capsys):
    line = "train cora --learning-rate 1e30 --epochs 40 --replicas 2 --quiet"
    assert main(line.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: training diverged: the loss of every replica")
    assert printed.err.count("\n") == 1
