"""A replica whose loss or weights become infinite or NaN is marked and keeps its best epoch."""

from __future__ import annotations

import itertools

import pytest
import torch
from scipy.sparse import csr_array, hstack

from agnn.graph import SparseFeatures
from agnn.training import (
    BestThenLowest,
    BothBest,
    HighestAccuracy,
    LastEpoch,
    LowestLoss,
    Problem,
    Recipe,
    WindowStop,
    train,
)
from built_models import GCN
from properties import assert_same_bits

RULES = [
    HighestAccuracy(), HighestAccuracy(1, on="test"), WindowStop(3), LowestLoss(), BothBest(),
    BestThenLowest(), LastEpoch(),
]  # fmt: skip


def poison(model, replica, at_step):
    """An extra loss that is NaN for one replica from one step on, and 0 otherwise."""
    steps = itertools.count(1)

    def extra(_dropout):
        factor = torch.zeros(model.replicas)
        factor[replica] = torch.nan if next(steps) >= at_step else 0.0
        return factor * model.first.weight.sum((1, 2))

    return extra


def trained(toy_problem, rule, extra_at=None, epochs=30):
    seeds, model = (0, 1, 2), toy_problem.model("agnn", (0, 1, 2))
    problem = toy_problem.problem(toy_problem.splits(seeds), seeds)
    extra = None if extra_at is None else poison(model, *extra_at)
    return model, train(model, problem, Recipe(epochs=epochs, selection=rule), extra_loss=extra)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_diverged_replica_is_marked_with_its_epoch_and_keeps_finite_weights(rule, toy_problem):
    plain, expected = trained(toy_problem, rule, epochs=14)
    model, history = trained(toy_problem, rule, extra_at=(1, 15))
    assert history.diverged.tolist() == [False, True, False]
    assert history.diverged_epochs.tolist() == [0, 15, 0]
    assert not history.unusable.any()
    # Its weights are those of a training that ends before the divergence.
    assert history.selected_epochs[1] == expected.selected_epochs[1]
    for name, value in model.state_dict().items():
        assert value.isfinite().all()
        assert_same_bits(value[1], plain.state_dict()[name][1])


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_other_replicas_keep_their_bits(rule, toy_problem):
    plain, expected = trained(toy_problem, rule)
    model, history = trained(toy_problem, rule, extra_at=(1, 15))
    for r in (0, 2):
        assert history.selected_epochs[r] == expected.selected_epochs[r]
        for name, value in model.state_dict().items():
            assert_same_bits(value[r], plain.state_dict()[name][r])


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_replica_that_diverges_at_once_has_no_epoch_and_cannot_be_used(rule, toy_problem):
    model, history = trained(toy_problem, rule, extra_at=(1, 1))
    assert history.unusable.tolist() == [False, True, False]
    assert history.selected_epochs[1] == 0
    assert all(value.isfinite().all() for value in model.state_dict().values())


def test_training_stops_early_when_every_replica_has_diverged(toy_problem):
    recipe = Recipe(epochs=500, learning_rate=1e30)
    model, history = toy_problem.train("agnn", recipe, seeds=(0, 1))
    assert history.unusable.all()
    assert history.training_loss.shape[0] < 150
    assert all(value.isfinite().all() for value in model.state_dict().values())


@pytest.mark.parametrize("decay", [1e30, 1e38])
def test_a_weight_decay_beyond_reason_is_divergence(decay, toy_problem):
    recipe = Recipe(epochs=40, learning_rate=10.0, weight_decay=decay)
    model, history = toy_problem.train("gcn", recipe, seeds=(0, 1))
    assert all(value.isfinite().all() for value in model.state_dict().values())
    assert history.diverged.all() or history.training_loss.isfinite().all()


def test_infinite_weights_behind_a_finite_loss_are_found_in_the_end(toy_problem):
    """The weights of a feature that no node has: no loss depends on them."""
    data = toy_problem.data
    wider = SparseFeatures.from_scipy(hstack([data.scaled_features("sum"), csr_array((120, 1))]))
    model = GCN(wider.width, data.classes, (0, 1))
    with torch.no_grad():
        model.first.weight[0, -1, 0] = torch.inf
    split = data.split("fixed")
    problem = Problem(wider, toy_problem.graph, data.labels, [split, split], (0, 1))
    history = train(model, problem, Recipe(epochs=3, weight_decay=0.0))
    assert history.watched_loss.isfinite().all()
    assert history.unusable.tolist() == [True, False]
    assert all(value.isfinite().all() for value in model.state_dict().values())
