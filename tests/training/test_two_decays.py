"""Two weight decays: one for the parameters of the patterns, another for the rest."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError
from agnn.training import LastEpoch, Recipe, WindowStop
from agnn.training._recipe import ReplicaAdam
from properties import assert_close


def test_the_other_parameters_have_their_own_decay(toy_problem):
    """Against torch's Adam with two groups, on a loss of zero: only the decay moves anything."""
    model = toy_problem.model("gcn", (0,))
    recipe = Recipe(weight_decay=0.3, other_decay=0.01, decayed=("first.*",), learning_rate=0.1)
    peer = [p.detach().clone().requires_grad_() for p in model.parameters()]
    groups = [{"params": peer[:1], "weight_decay": 0.3}, {"params": peer[1:], "weight_decay": 0.01}]
    theirs, ours = torch.optim.Adam(groups, lr=0.1), ReplicaAdam(model, 1, recipe, "reference")
    for step in range(1, 4):
        for p in peer:
            p.grad = torch.zeros_like(p)
        theirs.step()
        ours.step(torch.tensor([step]))
    for one, other in zip(model.parameters(), peer, strict=True):
        assert_close(one, other, 1e-5)


def test_both_decays_are_in_the_penalty(toy_problem):
    settings = {
        "epochs": 1,
        "weight_decay": 0.3,
        "other_decay": (0.1, 0.0),
        "decayed": ("first.*",),
    }
    model, with_both = toy_problem.train("gcn", Recipe(selection=WindowStop(), **settings), (0, 1))
    first, last = (w.double().square().sum((1, 2)) for w in (model.first.weight, model.last.weight))
    expected = 0.15 * first + torch.tensor([0.05, 0.0]) * last
    bare = Recipe(selection=WindowStop(), **settings | {"weight_decay": 0.0, "other_decay": 0.0})
    trained, _ = toy_problem.train("gcn", Recipe(epochs=1, selection=LastEpoch()), (0, 1))
    optimiser = ReplicaAdam(model, 2, Recipe(**settings), "auto")
    assert_close(optimiser.penalties(), expected, 1e-5)
    assert_close(ReplicaAdam(trained, 2, bare, "auto").penalties(), torch.zeros(2), 1e-5)
    assert (with_both.watched_loss > 0).all()


def test_a_negative_decay_is_refused():
    with pytest.raises(InputError, match="`other_decay` must be a number from 0 up; got -1"):
        Recipe(other_decay=-1.0)
