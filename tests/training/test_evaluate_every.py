"""Evaluation in every k-th epoch: the same training, whose rule sees fewer of its epochs."""

from __future__ import annotations

import itertools
from math import ceil

import pytest
import torch
from torch import Tensor

import agnn
from agnn.errors import InputError, StoppedError
from agnn.methods import get_method
from agnn.networks import NodeModel
from agnn.studies._works import method_values
from agnn.training import (
    BestScore,
    Checkpoints,
    CrossFitted,
    EarlyStop,
    HighestAccuracy,
    History,
    LastEpoch,
    LowestLoss,
    Recipe,
    _loop as loop,
    train,
)
from properties import assert_same_bits

EPOCHS = 40
SEEDS = (3, 0, 7, 1, 12)
RATES = (0.2, 0.02, 0.005, 0.1, 0.01)
EVERY = 3
# Replicas leave the batch at epochs 11 and 21, of which neither is evaluated with every = 3.
LEAVING = Recipe(epochs=80, learning_rate=RATES, selection=LowestLoss(6), evaluate_every=EVERY)


def trained(toy_problem, rule, every: int, epochs: int = EPOCHS) -> tuple[NodeModel, History]:
    recipe = Recipe(epochs=epochs, learning_rate=0.1, selection=rule, evaluate_every=every)
    return toy_problem.train("agnn", recipe, SEEDS[:2])


@pytest.mark.parametrize("every", [2, 3, 7, 100])
def test_evaluated_epochs_are_measured_as_ever_and_their_values_stand_until_the_next(
    toy_problem, every
):
    _, history = trained(toy_problem, LowestLoss(EPOCHS), 1)
    _, rarely = trained(toy_problem, LowestLoss(EPOCHS), every)
    assert_same_bits(rarely.training_loss, history.training_loss)
    last = torch.arange(EPOCHS) // every * every
    assert_same_bits(rarely.watched_loss, history.watched_loss[last])
    assert_same_bits(rarely.watched_accuracy, history.watched_accuracy[last])


def test_only_evaluated_epochs_are_computed(toy_problem, monkeypatch):
    seen = list[int]()
    measure = loop.TrainingRun.look

    def look(self):
        seen.append(int(self.number))
        return measure(self)

    monkeypatch.setattr(loop.TrainingRun, "look", look)
    trained(toy_problem, LowestLoss(EPOCHS), 7)
    assert seen == [1, 8, 15, 22, 29, 36]


def test_the_weights_kept_are_those_of_the_best_evaluated_epoch(toy_problem):
    _, history = trained(toy_problem, LowestLoss(EPOCHS), 1)
    model, rarely = trained(toy_problem, LowestLoss(EPOCHS), EVERY)
    best = 1 + EVERY * history.watched_loss[::EVERY].argmin(0)
    assert torch.equal(rarely.selected_epochs, best)
    for replica, epoch in enumerate(best.tolist()):
        until_then, _ = trained(toy_problem, LastEpoch(), 1, epoch)
        for name, value in until_then.state_dict().items():
            assert_same_bits(model.state_dict()[name][replica], value[replica])


@pytest.mark.parametrize("every", [2, 4, 5])
def test_a_window_is_of_evaluations(toy_problem, every):
    _, history = trained(toy_problem, HighestAccuracy(4), 1)
    _, rarely = trained(toy_problem, HighestAccuracy(4), every)
    means = history.watched_accuracy[::every].double().unfold(0, 4, 1).mean(-1)
    assert torch.equal(rarely.selected_epochs, 1 + every * (3 + means.argmax(0)))


@pytest.mark.parametrize("patience", [1, 5, 6, 7])
def test_patience_is_in_epochs_rounded_up_to_evaluations(patience):
    tracker = LowestLoss(patience).every(EVERY).tracker(1, torch.device("cpu"))
    worse = torch.ones(1)
    tracker.update(torch.tensor([1]), worse, 0 * worse)
    evaluations = 0
    while not tracker.is_finished():
        evaluations += 1
        tracker.update(torch.tensor([1 + evaluations]), worse, worse)
    assert evaluations == ceil(patience / EVERY)


def test_rules_around_rules_pass_it_on():
    assert CrossFitted(BestScore(10), (0, 0)).every(5) == CrossFitted(BestScore(2), (0, 0))
    stop = EarlyStop(BestScore(10), 20, "score")
    assert stop.every(5) == EarlyStop(BestScore(2), 4, "score")
    assert HighestAccuracy(4).every(5) == HighestAccuracy(4)


def test_a_rule_that_watches_nothing_keeps_the_last_epoch(toy_problem):
    model, history = trained(toy_problem, LastEpoch(), 1, 5)
    other, rarely = trained(toy_problem, LastEpoch(), 3, 5)
    assert rarely.selected_epochs.tolist() == [5, 5]
    assert_same_bits(rarely.training_loss, history.training_loss)
    for name, value in model.state_dict().items():
        assert_same_bits(other.state_dict()[name], value)


def in_one_batch(toy_problem, recipe: Recipe = LEAVING, **how) -> tuple[NodeModel, History]:
    model = toy_problem.model("agnn", SEEDS)
    problem = toy_problem.problem(toy_problem.splits(SEEDS, own=True), SEEDS)
    return model, train(model, problem, recipe, **how)


def test_replicas_that_have_stopped_leave_and_the_others_go_on(toy_problem, monkeypatch):
    model, history = in_one_batch(toy_problem)
    is_gone = history.training_loss.isnan()
    assert is_gone.any()
    monkeypatch.setattr(loop, "_LEAVE_AT", {"cpu": 2.0})
    other, whole = in_one_batch(toy_problem)
    assert torch.equal(history.selected_epochs, whole.selected_epochs)
    for name, value in other.state_dict().items():
        assert_same_bits(model.state_dict()[name], value)
    for name in ("watched_accuracy", "watched_loss"):
        expected = getattr(whole, name)[~is_gone]
        assert_same_bits(getattr(history, name)[~is_gone], expected)


@pytest.mark.parametrize("after", [3, 4, 14, 15, 16])
def test_a_training_continued_after_any_epoch_has_the_same_bits(toy_problem, tmp_path, after):
    model, history = in_one_batch(toy_problem)
    checkpoints = Checkpoints(tmp_path / "toy.checkpoint", every=1e9)

    def progress(done: int, _: int) -> None:
        if done == after:
            checkpoints.request_stop()

    with pytest.raises(StoppedError, match=f"after epoch {after}"):
        in_one_batch(toy_problem, progress=progress, checkpoints=checkpoints)
    again = Checkpoints(checkpoints.file, resume=True)
    other, seen = in_one_batch(toy_problem, checkpoints=again)
    for name, value in model.state_dict().items():
        assert_same_bits(other.state_dict()[name], value)
    for name in ("training_loss", "watched_accuracy", "watched_loss", "selected_epochs"):
        expected = getattr(history, name)
        torch.testing.assert_close(getattr(seen, name), expected, rtol=0, atol=0, equal_nan=True)


def test_divergence_between_evaluations_is_noted_in_its_epoch(toy_problem):
    model = toy_problem.model("agnn", SEEDS)
    problem = toy_problem.problem(toy_problem.splits(SEEDS), SEEDS)
    steps = itertools.count(1)

    def poison(_dropout: object) -> Tensor:
        factor = torch.zeros(len(SEEDS))
        factor[1] = torch.nan if next(steps) >= 8 else 0.0
        return factor * model.first.weight.sum((1, 2))

    recipe = Recipe(epochs=12, selection=LowestLoss(40), evaluate_every=5)
    history = train(model, problem, recipe, extra_loss=poison)
    assert history.diverged_epochs.tolist() == [0, 8, 0, 0, 0]
    assert history.selected_epochs[1] in (1, 6)


def test_every_network_has_the_field(toy):
    run = agnn.evaluate(
        "agnn_plus", toy, "cross-fit", replicas=4, changes={"epochs": 12, "evaluate_every": 5}
    )
    assert run.history is not None
    assert set(run.history.selected_epochs.tolist()) <= {1, 6, 11}
    losses = run.history.watched_loss
    assert_same_bits(losses, losses[torch.arange(12) // 5 * 5])


def test_it_is_part_of_a_stored_result_s_identity_only_where_it_is_used():
    method = get_method("gcn")()
    assert "evaluate_every" not in method_values(method)
    assert method_values(method.with_fields(evaluate_every=5))["evaluate_every"] == 5


def test_no_evaluation_at_all_is_refused(toy):
    with pytest.raises(InputError, match="`evaluate_every` must be at least 1; got 0"):
        agnn.evaluate("gcn", toy, "fixed", changes={"evaluate_every": 0})
