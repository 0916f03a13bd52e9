"""Methods without epochs, cross-fitted: the folds of the other replicas choose the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import agnn
from agnn.choosing import Search, Tuned, settle
from agnn.data import NodeData, Split, make_splits
from agnn.methods import (
    Method,
    Ridge,
    Task,
    get_method,
)
from agnn.methods._split_method import ChoosingMethod
from agnn.networks import Separated
from properties import assert_close, assert_same_bits

FOLDS = 5
METHODS = (
    "ridge", "boosting", "bootstrap", "label_propagation", "ica", "t_svm",
    "manifold_regularisation", "single_layer_perceptron", "line",
)  # fmt: skip


def cross_fitted(data: NodeData, passes: int = 1) -> Task:
    splits = make_splits(data, f"{FOLDS}-fold-cross-fit", range(passes))
    numbers = tuple(r // FOLDS for r in range(len(splits)))
    return Task(data, splits, tuple(range(len(splits))), passes=numbers)


def with_other_labels(task: Task, nodes: np.ndarray) -> Task:
    labels = task.data.labels.copy()
    labels[nodes] = (labels[nodes] + 1) % task.data.classes
    return replace(task, data=replace(task.data, labels=labels))


def other_replicas(task: Task, replica: int) -> list[int]:
    return [s for s, p in enumerate(task.passes) if p == task.passes[replica] and s != replica]


def fold_accuracy(scores: torch.Tensor, task: Task) -> np.ndarray:
    """The share of its own fold that each replica predicts correctly; [R]."""
    answers = scores.argmax(-1).numpy()
    labels = task.data.labels
    return np.array(
        [
            np.mean(answers[r, split.test] == labels[split.test])
            for r, split in enumerate(task.splits)
        ]
    )


@pytest.fixture(scope="module")
def unsplit(toy: NodeData) -> NodeData:
    return replace(toy, splits={})


def quick(name: str) -> Method:
    return get_method(name)(**({"iterations": 8} if name == "boosting" else {}))


@pytest.mark.parametrize("name", METHODS)
def test_a_replica_never_reads_the_labels_of_its_own_fold(name, unsplit, monkeypatch):
    """They are changed, and all settings are called equal: the predictions have the same bits."""
    monkeypatch.setattr(Task, "values_to_choose_by", lambda _, scores: [0.0] * len(scores))
    method = quick(name)
    task = cross_fitted(unsplit)
    before = method.run(task).scores
    for replica, split in enumerate(task.splits):
        after = method.run(with_other_labels(task, split.test)).scores
        assert_same_bits(after[replica], before[replica])
        others = other_replicas(task, replica)
        assert not torch.equal(after[others], before[others])


@dataclass(frozen=True)
class Answers(ChoosingMethod):
    """Setting k predicts what row k of a table says, whatever it is trained on."""

    name: ClassVar[str] = "answers"
    title: ClassVar[str] = "Answers"
    cites: ClassVar[str] = "nobody"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"only": (0, 1, 2, 3, 4, 5)}

    only: int | None = None

    def candidates(self, data: NodeData, splits: Sequence[Split]) -> Iterator[Any]:
        table = np.random.default_rng(3).random((6, data.nodes, data.classes))
        for values in table if self.only is None else table[[self.only]]:
            yield [values.__getitem__] * len(splits)


@pytest.mark.parametrize("method", [Answers(), Tuned(Answers())], ids=["inside", "tuned"])
def test_its_own_fold_does_not_choose_a_replica_s_setting(method, unsplit):
    """Here no setting learns anything, so a label changes what its fold scores and nothing else."""
    task = cross_fitted(unsplit, passes=2)
    before = method.run(task).scores
    for replica, split in enumerate(task.splits):
        after = method.run(with_other_labels(task, split.test)).scores
        assert_same_bits(after[replica], before[replica])
    everything = with_other_labels(task, unsplit.labelled)
    assert not torch.equal(method.run(everything).scores, before)


@pytest.mark.parametrize("method", [Answers(), Tuned(Answers())], ids=["inside", "tuned"])
def test_the_setting_has_the_best_mean_over_the_other_folds_of_the_pass(method, unsplit):
    task = cross_fitted(unsplit, passes=2)
    outcomes = [Answers(only=k).run(task).scores for k in range(6)]
    accuracy = np.stack([fold_accuracy(scores, task) for scores in outcomes])
    scores = method.run(task).scores
    chosen = set()
    for replica in range(len(task.seeds)):
        means = accuracy[:, other_replicas(task, replica)].mean(1)
        best = np.flatnonzero(means > means.max() - 1e-9).tolist()
        (setting,) = [k for k in best if torch.equal(outcomes[k][replica], scores[replica])]
        chosen.add(setting)
    assert len(chosen) > 1


# Not X-AX: where all fitted values are negative, probabilities do not tell which is the highest.
@pytest.mark.parametrize("view", ["X", "AX", "A2X"])
def test_ridge_takes_the_penalty_that_the_other_folds_prefer(unsplit, view):
    task = cross_fitted(unsplit)
    penalties = (1.0, 0.01, 100.0)
    alone = [Ridge(views=(view,), penalties=(penalty,)).run(task).scores for penalty in penalties]
    accuracy = np.stack([fold_accuracy(scores, task) for scores in alone])
    scores = Ridge(views=(view,), penalties=penalties).run(task).scores
    for replica in range(FOLDS):
        means = accuracy[:, other_replicas(task, replica)].mean(1)
        best = np.flatnonzero(means > means.max() - 1e-9)  # the squared error decides between them
        differences = [float((alone[k][replica] - scores[replica]).abs().max()) for k in best]
        assert min(differences) < 1e-6


def test_one_setting_for_all_replicas_is_chosen_by_the_folds_that_were_tried(unsplit):
    settled = settle(Separated(epochs=2, hidden=4), cross_fitted(unsplit))
    assert not settled.tries_candidates
    assert "by folds that test the replicas" in Search.optimism(cross_fitted(unsplit).splits, FOLDS)


def test_a_cross_fitted_method_may_be_tuned(unsplit):
    run = agnn.evaluate("single_layer_perceptron", unsplit, "5-fold-cross-fit", tuned=True)
    assert len(run.chosen) == FOLDS
    assert_close(run.scores.sum(-1), torch.ones(FOLDS, unsplit.nodes), 1e-5)
