"""Replicas that have stopped leave the batch; nothing that is kept of any replica changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn import training
from agnn.errors import StoppedError
from agnn.networks import NodeModel
from agnn.networks._consistency import Consistency, ConsistencySettings
from agnn.networks._layers import Beta
from agnn.training import (
    BestScore,
    Checkpoints,
    History,
    LowestLoss,
    Recipe,
    _loop as loop,
)
from built_models import AGNNPlus
from properties import assert_same_bits

SEEDS = (3, 0, 7, 1, 12)
RULES = (LowestLoss(12), BestScore(10))
RECIPE = Recipe(
    epochs=150,
    learning_rate=(0.2, 0.02, 0.005, 0.1, 0.01),
    weight_decay=(5e-4, 1e-3, 0.0, 5e-3, 1e-4),
    dropout=(0.5, 0.25, 0.6, 0.0, 0.3),
)


def trained(problem, rule, replicas, *, consistent=False, **how) -> tuple[NodeModel, History]:
    recipe = RECIPE.of_replicas(replicas)
    recipe = Recipe(**{**vars(recipe), "selection": rule})
    seeds = [SEEDS[r] for r in replicas]
    splits = problem.splits(seeds, own=True)
    if not consistent:
        model = problem.model("agnn", seeds)
    else:
        sizes = (problem.features.width, problem.data.classes)
        model = AGNNPlus(*sizes, seeds, betas=(Beta(), Beta()), hidden=8)
    objective = None
    if consistent:
        settings = ConsistencySettings(warm_up=5)
        objective = Consistency(model, problem.features, problem.graph, settings)
    weights = np.tile(np.arange(1.0, 1.0 + problem.data.classes), (len(seeds), 1))
    task = training.Problem(
        problem.features, problem.graph, problem.data.labels, splits, seeds, weights
    )
    return model, training.train(model, task, recipe, objective=objective, **how)


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_all_that_is_kept_is_as_if_all_had_stayed(rule, consistent, toy_problem, monkeypatch):
    model, history = trained(toy_problem, rule, range(5), consistent=consistent)
    monkeypatch.setattr(loop, "_LEAVE_AT", {"cpu": 2.0})
    other, whole = trained(toy_problem, rule, range(5), consistent=consistent)

    is_gone = history.training_loss.isnan()
    assert is_gone.any()
    assert not whole.training_loss.isnan().any()
    assert model.replicas == 5
    for name, value in other.state_dict().items():
        assert_same_bits(model.state_dict()[name], value)
    assert torch.equal(history.selected_epochs, whole.selected_epochs)
    for name in ("training_loss", "watched_accuracy", "watched_loss"):
        found, expected = getattr(history, name), getattr(whole, name)
        assert found.shape == expected.shape
        assert torch.equal(found.isnan(), is_gone)
        assert_same_bits(found[~is_gone], expected[~is_gone])
    # A replica is gone only after its selected epoch and its patience.
    assert (is_gone.sum(0) <= len(is_gone) - history.selected_epochs - rule.patience).all()


def test_a_replica_that_outlives_the_others_is_as_it_is_alone(toy_problem):
    model, history = trained(toy_problem, RULES[0], range(5))
    longest = int((~history.training_loss.isnan()).sum(0).argmax())
    alone, seen = trained(toy_problem, RULES[0], [longest])
    for name, value in alone.state_dict().items():
        assert_same_bits(model.state_dict()[name][longest], value[0])
    assert_same_bits(
        history.training_loss[: len(seen.training_loss), longest], seen.training_loss[:, 0]
    )


@pytest.mark.parametrize("later", [0, 3, 10])
def test_a_training_resumed_after_replicas_have_left_has_the_same_bits(
    later, toy_problem, tmp_path
):
    model, history = trained(toy_problem, RULES[0], range(5))
    first_gone = int(history.training_loss.isnan().any(1).nonzero()[0]) + 1
    checkpoints = Checkpoints(tmp_path / "toy.checkpoint", every=1e9)

    def progress(done: int, _: int) -> None:
        if done == first_gone + later:
            checkpoints.request_stop()

    with pytest.raises(StoppedError, match="after epoch"):
        trained(toy_problem, RULES[0], range(5), progress=progress, checkpoints=checkpoints)
    again = Checkpoints(checkpoints.file, resume=True)
    other, seen = trained(toy_problem, RULES[0], range(5), checkpoints=again)
    for name, value in model.state_dict().items():
        assert_same_bits(other.state_dict()[name], value)
    assert torch.equal(seen.selected_epochs, history.selected_epochs)
    for name in ("training_loss", "watched_accuracy", "watched_loss", "betas"):
        found, expected = getattr(seen, name), getattr(history, name)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_a_diverged_replica_leaves_and_the_others_go_on(toy_problem, monkeypatch):
    monkeypatch.setattr("agnn.training._loop._LEAVE_AT", {"cpu": 0.1})
    seeds = SEEDS[:3]
    recipe = Recipe(epochs=40, learning_rate=(1e38, 0.01, 0.01), selection=LowestLoss(40))
    model, history = toy_problem.train("agnn", recipe, seeds)
    assert history.diverged.tolist() == [True, False, False]
    assert history.training_loss[-1, 1:].isfinite().all()
    assert model.replicas == 3
