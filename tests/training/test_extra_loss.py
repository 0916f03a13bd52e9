"""A further term of the objective, beside the cross-entropy."""

from __future__ import annotations

import torch

from agnn.graph import Graph, SparseFeatures
from agnn.training import LastEpoch, Problem, Recipe, train
from built_models import MLP
from properties import assert_close, assert_same_bits

DECAY = 0.02


def trained(toy, recipe, seeds=(0, 1), extra=None):
    """The first layer's weights after some steps, and the training losses."""
    features = SparseFeatures.from_scipy(toy.scaled_features("sum"))
    graph = Graph.from_edges(toy.edges, toy.nodes)
    model = MLP(features.width, 3, seeds)
    extra_loss = None if extra is None else lambda dropout: extra(model, dropout)
    splits = [toy.split("fixed")] * len(seeds)
    problem = Problem(features, graph, toy.labels, splits, seeds)
    history = train(model, problem, recipe, extra_loss=extra_loss)
    return model.first.weight.detach(), history.training_loss


def half_square(model, _dropout):
    return DECAY / 2 * model.first.weight.square().sum((1, 2))


def test_an_extra_half_square_is_weight_decay(toy):
    base = {"epochs": 20, "dropout": 0.0, "selection": LastEpoch()}
    by_loss, _ = trained(toy, Recipe(weight_decay=0.0, **base), extra=half_square)
    by_decay, _ = trained(toy, Recipe(weight_decay=DECAY, decayed=("first.weight",), **base))
    plain, _ = trained(toy, Recipe(weight_decay=0.0, **base))
    assert_close(by_loss, by_decay, 1e-4)
    assert (plain - by_decay).abs().max() > 1e-3


def test_the_recorded_loss_includes_it(toy):
    recipe = Recipe(epochs=1, weight_decay=0.0, dropout=0.0, selection=LastEpoch())
    _, without = trained(toy, recipe)
    _, plus = trained(toy, recipe, extra=lambda model, _: model.first.bias.sum(1) + 3.0)
    assert_close(plus, without + 3.0, 1e-6)


def test_it_is_called_once_per_step_with_that_step_s_dropout(toy):
    epochs = []

    def watch(model, dropout):
        epochs.append(int(dropout.epoch))
        return 0.0 * model.first.bias.sum(1)

    recipe = Recipe(epochs=4, selection=LastEpoch())
    same, _ = trained(toy, recipe, extra=watch)
    assert epochs == [1, 2, 3, 4]
    assert_same_bits(same, trained(toy, recipe)[0])
    assert torch.isfinite(same).all()
