"""The rules with patience, each against its authors' loop in plain Python."""

from __future__ import annotations

import random

import pytest
import torch

from agnn.errors import InputError
from agnn.training import BestThenLowest, BothBest, LowestLoss, Selection

CPU = torch.device("cpu")
RULES = (LowestLoss, BothBest, BestThenLowest)


def lowest_loss(_accuracy: list[float], loss: list[float], patience: int) -> tuple[int, int]:
    """GCNII's loop: the kept epoch and the last one run."""
    best, bad, kept = float("inf"), 0, -1
    for epoch, value in enumerate(loss):
        if value < best:
            best, kept, bad = value, epoch, 0
        else:
            bad += 1
        if bad == patience:
            break
    return kept, epoch


def both_best(accuracy: list[float], loss: list[float], patience: int) -> tuple[int, int]:
    """GAT's loop."""
    highest, lowest, idle, kept = 0.0, float("inf"), 0, -1
    for epoch, (a, b) in enumerate(zip(accuracy, loss, strict=True)):
        if a >= highest or b <= lowest:
            if a >= highest and b <= lowest:
                kept = epoch
            highest, lowest, idle = max(a, highest), min(b, lowest), 0
        else:
            idle += 1
            if idle == patience:
                break
    return kept, epoch


def best_then_lowest(accuracy: list[float], loss: list[float], patience: int) -> tuple[int, int]:
    """APPNP's loop: its `Best.RANKED` over accuracy, then loss."""
    best, remembered, left, kept = (-1.0, float("inf")), (-1.0, float("inf")), patience, -1
    for epoch, (a, b) in enumerate(zip(accuracy, loss, strict=True)):
        if a >= best[0] or b <= best[1]:
            best, left = (max(a, best[0]), min(b, best[1])), patience
            if (a, -b) > (remembered[0], -remembered[1]):
                remembered, kept = (a, b), epoch
        else:
            left -= 1
            if left == 0:
                break
    return kept, epoch


LOOPS = {LowestLoss: lowest_loss, BothBest: both_best, BestThenLowest: best_then_lowest}


def followed(rule: Selection, accuracies, losses) -> tuple[list[int], list[int]]:
    """The kept epoch of each replica, and the epoch after which all have stopped."""
    replicas = len(accuracies)
    tracker, kept, stopped = rule.tracker(replicas, CPU), [-1] * replicas, []
    for epoch, (a, b) in enumerate(
        zip(zip(*accuracies, strict=True), zip(*losses, strict=True), strict=True)
    ):
        seen = (torch.tensor(a), torch.tensor(b))
        chosen = tracker.update(torch.tensor([epoch + 1]), *seen).tolist()
        kept = [epoch if flag else before for flag, before in zip(chosen, kept, strict=True)]
        if tracker.is_finished():
            stopped.append(epoch)
    return kept, stopped


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("patience", [1, 3, 8])
@pytest.mark.parametrize("kind", RULES)
def test_a_rule_is_its_authors_loop(kind, patience, seed):
    source = random.Random(seed)  # noqa: S311 (no secret)
    accuracies, losses = [], []
    for spread in (2, 12, 60):  # few levels make ties, long falls make progress
        accuracies.append([min(e, 20) / 64 + source.randint(0, spread) / 64 for e in range(60)])
        losses.append([(100 - e + source.randint(0, 3 * spread)) / 64 for e in range(60)])
    expected = [LOOPS[kind](*pair, patience) for pair in zip(accuracies, losses, strict=True)]
    kept, stopped = followed(kind(patience), accuracies, losses)
    assert kept == [epoch for epoch, _ in expected]
    last = max(epoch for _, epoch in expected)
    assert last == 59 or stopped[0] == last


@pytest.mark.parametrize("kind", RULES)
def test_a_stopped_replica_never_starts_again(kind):
    accuracy = [0.5, 0.4, 0.4, 0.9]
    loss = [1.0, 2.0, 2.0, 0.1]
    assert followed(kind(2), [accuracy], [loss])[0] == [0]
    assert followed(kind(3), [accuracy], [loss])[0] == [3]


@pytest.mark.parametrize("kind", RULES)
def test_without_patience_there_is_no_rule(kind):
    with pytest.raises(InputError, match="`patience` must be at least 1; got 0"):
        kind(0)
