"""Callbacks are told what was measured, may end a training, and change no bit of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.methods import NetworkMethod, get_method, method_names
from agnn.networks import AGNN, GCN
from agnn.runs import Run, evaluate
from agnn.training import BestScore, Callback, EarlyStop, EpochReport, HighestAccuracy, LastEpoch
from properties import assert_same_bits

NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


class Recorder(Callback):
    def __init__(self, last: int = 10**9, every: int = 1) -> None:
        self.last, self.every = last, every
        self.reports: list[EpochReport] = []
        self.started: list[Mapping[str, Any]] = []
        self.finished: list[Run] = []

    def start(self, about: Mapping[str, Any]) -> None:
        self.started.append(about)

    def epoch(self, report: EpochReport) -> bool:
        self.reports.append(report)
        return report.epoch >= self.last

    def finish(self, run: Run) -> None:
        self.finished.append(run)


def test_a_callback_is_told_the_history_and_the_run(toy: NodeData) -> None:
    recorder = Recorder()
    run = evaluate(AGNN(epochs=7, layers=2), toy, "fixed", (3, 8), callbacks=[recorder])
    assert [each.epoch for each in recorder.reports] == list(range(1, 8))
    history = run.history
    assert_same_bits(
        torch.stack([each.training_loss for each in recorder.reports]), history.training_loss
    )
    assert_same_bits(
        torch.stack([each.watched_loss for each in recorder.reports]), history.watched_loss
    )
    assert recorder.reports[2].means()["validation_score"] == pytest.approx(
        float(history.watched_accuracy[2].mean())
    )
    (about,) = recorder.started
    assert (about["method"], about["replicas"], about["seed"]) == ("agnn", 2, 3)
    assert about["hyper_parameters"]["epochs"] == 7
    assert recorder.finished == [run]
    alone = evaluate(AGNN(epochs=7, layers=2), toy, "fixed", (3, 8))
    assert_same_bits(alone.scores, run.scores)


def test_a_callback_ends_the_training_and_is_called_as_often_as_it_says(toy: NodeData) -> None:
    recorder = Recorder(last=6, every=3)
    run = evaluate(GCN(epochs=50), toy, "fixed", (0,), callbacks=[Callback(), recorder])
    assert [each.epoch for each in recorder.reports] == [3, 6]
    assert run.history.training_loss.shape[0] == 6


def test_a_method_without_epochs_tells_start_and_finish(toy: NodeData) -> None:
    recorder = Recorder()
    run = evaluate("label_propagation", toy, "fixed", (0,), callbacks=[recorder])
    assert (len(recorder.started), recorder.reports, recorder.finished) == (1, [], [run])


def outcome(rule: EarlyStop, scores: list[float], losses: list[float]) -> tuple[int, int]:
    """The epoch that is kept, and the first after which the rule has finished (0: none)."""
    tracker, kept, end = rule.tracker(1, torch.device("cpu")), 0, 0
    for number, (score, loss) in enumerate(zip(scores, losses, strict=True), 1):
        if bool(
            tracker.update(torch.tensor([number]), torch.tensor([score]), torch.tensor([loss]))
        ):
            kept = number
        if tracker.is_finished() and not end:
            end = number
    return kept, end


def test_a_rule_stops_after_the_patience_and_keeps_what_it_chose_before() -> None:
    losses = [5.0, 4.0, 4.5, 4.2, 4.1, 1.0, 0.5]
    scores = [0.1, 0.2, 0.6, 0.5, 0.3, 0.9, 1.0]
    assert outcome(EarlyStop(LastEpoch(), 3, "loss"), scores, losses) == (5, 5)
    assert outcome(EarlyStop(LastEpoch(), 2, "score"), scores, losses) == (5, 5)
    assert outcome(EarlyStop(HighestAccuracy(window=1), 3), scores, losses) == (3, 5)
    assert outcome(EarlyStop(LastEpoch(), 9), scores, losses) == (7, 0)
    # The rule's own patience holds as well.
    assert outcome(EarlyStop(BestScore(1), 9), scores, losses) == (3, 4)


def test_equal_values_are_no_progress_and_nan_is_none() -> None:
    nan = float("nan")
    assert outcome(EarlyStop(LastEpoch(), 2), [1.0] * 4, [2.0, 2.0, 2.0, 2.0]) == (3, 3)
    assert outcome(EarlyStop(LastEpoch(), 2), [1.0] * 4, [2.0, nan, nan, 1.0])[1] == 3


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_stops_early_if_asked_to_and_not_by_default(name: str) -> None:
    method = get_method(name)()
    assert (method.stop_after, method.stop_on) == (0, "loss")
    recipe = method.recipe()
    assert method.stopping(recipe) is recipe
    found = method.with_fields(stop_after=4, stop_on="score").stopping(recipe).selection
    assert found == EarlyStop(recipe.selection, 4, "score")
    assert (found.on, found.metric) == (recipe.selection.on, recipe.selection.metric)


def test_a_stopped_training_is_shorter_and_has_a_checkpointed_state(toy: NodeData) -> None:
    short = GCN(epochs=200, window=200, stop_after=3, learning_rate=0.3)
    run = evaluate(short, toy, "fixed", (0, 1))
    assert run.history.training_loss.shape[0] < 200
    best = run.history.watched_loss.argmin(0)
    assert (run.history.selected_epochs <= best + 1 + 3).all()


def test_wrong_fields_are_refused(toy: NodeData) -> None:
    with pytest.raises(InputError, match="unknown stop_on 'losss'; did you mean 'loss'"):
        evaluate("gcn", toy, "fixed", changes={"stop_after": 2, "stop_on": "losss"})
    with pytest.raises(InputError, match="`stop_after` must be at least 1; got -1"):
        evaluate("gcn", toy, "fixed", changes={"stop_after": -1})
