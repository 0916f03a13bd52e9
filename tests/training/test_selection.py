"""The rules that choose an epoch, each against its definition in plain Python."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from agnn.errors import InputError
from agnn.training import BestScore, HighestAccuracy, LastEpoch, Selection, Targets, WindowStop

CPU = torch.device("cpu")


def kept_epochs(
    rule: Selection, accuracies: list[list[float]], losses: list[list[float]]
) -> list[int]:
    """The last epoch, from 0, that each replica keeps; one list of numbers a replica."""
    tracker, kept = rule.tracker(len(accuracies), CPU), [-1] * len(accuracies)
    for epoch, (a, b) in enumerate(
        zip(zip(*accuracies, strict=True), zip(*losses, strict=True), strict=True)
    ):
        chosen = tracker.update(torch.tensor([epoch + 1]), torch.tensor(a), torch.tensor(b))
        assert chosen.shape == (len(accuracies),)
        kept = [
            epoch if flag else before for flag, before in zip(chosen.tolist(), kept, strict=True)
        ]
    return kept


def sequences(seed: int, epochs: int, levels: int = 64) -> list[list[float]]:
    """Numbers in 64ths, which floats add without rounding; small ranges make many ties."""
    source = random.Random(seed)  # noqa: S311 (no secret)
    return [[source.randint(0, top) / levels for _ in range(epochs)] for top in (3, 10, 64)]


def first_highest_mean(values: list[float], window: int) -> int:
    """The definition: mean over the epoch and those before it, only where a whole window is."""
    ends = range(window - 1, len(values))
    means = [sum(map(Fraction, values[e + 1 - window : e + 1])) / window for e in ends]
    return ends[means.index(max(means))]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("window", [1, 2, 4, 10])
def test_highest_accuracy_keeps_the_first_epoch_with_the_highest_mean(window, seed):
    accuracies = [[value + 1 / 64 for value in values] for values in sequences(seed, 40)]
    losses = sequences(seed + 100, 40)
    expected = [first_highest_mean(values, window) for values in accuracies]
    assert kept_epochs(HighestAccuracy(window), accuracies, losses) == expected


@pytest.mark.parametrize("seed", range(8))
def test_the_first_of_equal_means_wins_also_where_floats_round(seed):
    """Accuracies in 500ths, as on the validation nodes of the paper: full of ties."""
    source = random.Random(seed)  # noqa: S311 (no secret)
    counts = [source.randint(386, 394) for _ in range(300)]
    means = [sum(counts[e - 3 : e + 1]) for e in range(3, 300)]
    kept = kept_epochs(HighestAccuracy(4), [[count / 500 for count in counts]], [[0.0] * 300])
    assert kept == [3 + means.index(max(means))]


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_run_shorter_than_the_window_keeps_its_first_epoch(epochs):
    rising = [0.2 * (epoch + 1) for epoch in range(epochs)]
    assert kept_epochs(HighestAccuracy(4), [rising], [[1.0] * epochs]) == [0]


def test_a_run_that_never_answers_right_still_keeps_something():
    assert kept_epochs(HighestAccuracy(4), [[0.0] * 9], [[1.0] * 9])[0] >= 0


def kipf_and_wellings_program(cost_val: list[float], early_stopping: int) -> int:
    """The loop of their train.py: the weights are those of the epoch in which it breaks."""
    for epoch in range(len(cost_val)):
        past = cost_val[: epoch + 1]
        if epoch > early_stopping and Fraction(past[-1]) > sum(
            map(Fraction, past[-(early_stopping + 1) : -1])
        ) / early_stopping:  # fmt: skip
            break
    return epoch


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("window", [1, 2, 4, 8])
def test_window_stop_is_kipf_and_wellings_program(window, seed):
    source = random.Random(seed)  # noqa: S311 (no secret)
    falling = [
        [(200 - 4 * e + source.randint(0, spread)) / 64 for e in range(40)]
        for spread in (2, 20, 80)
    ]
    losses = [*falling, *sequences(seed, 40)]
    expected = [kipf_and_wellings_program(values, window) for values in losses]
    assert kept_epochs(WindowStop(window), losses, losses) == expected
    assert len(set(expected)) > 1


def test_window_stop_is_finished_when_every_replica_has_stopped():
    tracker = WindowStop(2).tracker(2, CPU)
    losses = [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (2.0, 0.5), (2.0, 0.4), (2.0, 9.0)]
    finished = []
    for epoch, loss in enumerate(losses):
        tracker.update(torch.tensor([epoch + 1]), torch.zeros(2), torch.tensor(loss))
        finished.append(tracker.is_finished())
    assert finished == [False, False, False, False, False, True]


def test_a_stopped_replica_never_starts_again():
    losses = [[1.0] * 4 + [5.0] + [0.0] * 10]
    assert kept_epochs(WindowStop(2), losses, losses) == [4]


def test_last_epoch_keeps_the_last_and_watches_nothing():
    assert kept_epochs(LastEpoch(), [[0.9, 0.1, 0.2]], [[1.0, 2.0, 3.0]]) == [2]
    assert not LastEpoch().watches
    assert not LastEpoch().tracker(1, CPU).is_finished()


def test_rules_start_afresh_for_every_run():
    rule = HighestAccuracy(1)
    assert kept_epochs(rule, [[0.9, 0.1]], [[0, 0]]) == [0]
    assert kept_epochs(rule, [[0.1, 0.2]], [[0, 0]]) == [1]


def test_the_area_under_the_curve_is_scikit_learns_with_ties_and_padding():
    draw = np.random.default_rng(0)
    labels, weights = torch.tensor(draw.integers(0, 2, (3, 50))), torch.full((3, 50), 0.02)
    weights[0, 40:] = 0.0
    picked = torch.tensor(draw.normal(size=(3, 50, 2))).round(decimals=1)
    margins = picked[..., 1] - picked[..., 0]
    found = Targets(None, None, labels, weights, None).aucs(picked)
    for r in range(3):
        is_counted = weights[r] > 0
        expected = roc_auc_score(labels[r][is_counted], margins[r][is_counted])
        assert found[r] == pytest.approx(expected, abs=1e-6)


def test_without_both_classes_the_area_under_the_curve_is_one_half():
    labels = torch.zeros(1, 4, dtype=torch.int64)
    found = Targets(None, None, labels, torch.full((1, 4), 0.25), None).aucs(torch.rand(1, 4, 2))
    assert found.tolist() == [0.5]


def test_the_best_score_wins_ties_by_loss_and_stops_after_its_patience():
    tracker = BestScore(patience=2).tracker(1, torch.device("cpu"))
    seen = [(0.5, 3.0), (0.6, 2.0), (0.6, 1.9), (0.6, 1.95), (0.55, 1.8), (0.5, 2.0), (0.4, 2.0)]
    kept = []
    for epoch, (score, loss) in enumerate(seen, start=1):
        values = (torch.tensor([epoch]), torch.tensor([score]), torch.tensor([loss]))
        kept.append(bool(tracker.update(*values)))
        if tracker.is_finished():
            break
    assert kept == [True, True, True, False, False, False, False]
    assert tracker.is_finished()


def test_with_a_weight_of_the_loss_the_best_difference_wins():
    rule = BestScore(patience=3, loss_weight=0.5)
    tracker = rule.tracker(1, torch.device("cpu"))
    # The differences: -1.0, -0.4, -0.45, -0.3, -0.5, -0.6, -0.7.
    seen = [(0.5, 3.0), (0.6, 2.0), (0.7, 2.3), (0.55, 1.7), (0.6, 2.2), (0.5, 2.2), (0.4, 2.2)]
    kept = []
    for epoch, (score, loss) in enumerate(seen, start=1):
        values = (torch.tensor([epoch]), torch.tensor([score]), torch.tensor([loss]))
        kept.append(bool(tracker.update(*values)))
        assert tracker.is_finished() == (epoch == len(seen))
    assert kept == [True, True, False, True, False, False, False]


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_a_weight_of_the_loss_that_says_nothing_is_refused(weight: float) -> None:
    with pytest.raises(InputError, match="`loss_weight` must be at least 0"):
        BestScore(loss_weight=weight)
