"""The training loop: each step is Adam on the mean loss, and the kept epoch is the chosen one."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from agnn.data import Split
from agnn.errors import InputError
from agnn.graph import View, _view
from agnn.kernels import Dropout
from agnn.training import HighestAccuracy, LastEpoch, Recipe, WindowStop, probabilities, train
from properties import assert_close, assert_same_bits

KINDS = ("agnn", "gcn", "gln")
DECAYED = ("first.*", "last.*")


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_adam_on_the_mean_loss_of_the_training_nodes(kind, toy_problem):
    """Against a plain loop on the whole graph with torch's optimiser."""
    recipe = Recipe(
        epochs=8,
        learning_rate=0.02,
        weight_decay=0.01,
        dropout=0.4,
        decayed=DECAYED,
        selection=LastEpoch(),
    )
    model, history = toy_problem.train(kind, recipe, seeds=(3,))

    plain = toy_problem.model(kind, (3,))
    named = dict(plain.named_parameters())
    groups = [
        {
            "params": [p for n, p in named.items() if not n.startswith("layers")],
            "weight_decay": 0.01,
        },
        {"params": [p for n, p in named.items() if n.startswith("layers")]},
    ]
    optimiser, stream = torch.optim.Adam(groups, lr=0.02), Dropout([3], [0.4])
    view = View.whole(toy_problem.features, toy_problem.graph, plain.hops)
    nodes = torch.tensor(toy_problem.data.split("fixed").train)
    labels = torch.tensor(toy_problem.data.labels)[nodes]
    for epoch in range(8):
        stream.epoch += 1
        loss = F.cross_entropy(plain(view, stream)[0, nodes], labels)
        assert_close(history.training_loss[epoch, 0], loss, 1e-5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for name, p in model.named_parameters():
        assert_close(p, named[name], 2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rule", [HighestAccuracy(), HighestAccuracy(1), HighestAccuracy(1, on="test"), WindowStop(3)]
)
def test_the_kept_weights_are_those_of_training_just_as_long(kind, rule, toy_problem):
    """Also a proof that they are copies: views would hold the last epoch's."""
    seeds, rate = (0, 1, 2), (0.05, 0.2, 0.01)
    settings = {"learning_rate": rate, "decayed": ("first.*",)}
    model, history = toy_problem.train(kind, Recipe(epochs=31, selection=rule, **settings), seeds)
    for r, epochs in enumerate(history.selected_epochs.tolist()):
        assert 1 <= epochs <= 31
        shorter = Recipe(epochs=epochs, selection=LastEpoch(), **settings)
        again, _ = toy_problem.train(kind, shorter, seeds)
        for name, value in model.state_dict().items():
            assert_same_bits(value[r], again.state_dict()[name][r])


@pytest.mark.parametrize("on", ["validation", "test"])
def test_accuracy_and_loss_are_watched_after_the_step_without_dropout(on, toy_problem):
    rule = HighestAccuracy(1, on=on)
    model, history = toy_problem.train("agnn", Recipe(epochs=1, learning_rate=0.1, selection=rule))
    nodes = torch.tensor(getattr(toy_problem.data.split("fixed"), on))
    scores = probabilities(model, toy_problem.features, toy_problem.graph)[0, nodes]
    labels = torch.tensor(toy_problem.data.labels)[nodes]
    assert_close(history.watched_loss[0, 0], F.nll_loss(scores.log(), labels), 1e-5)
    assert_close(history.watched_accuracy[0, 0], (scores.argmax(1) == labels).double().mean(), 1e-6)


def test_the_loss_that_stops_a_run_includes_the_l2_term_of_the_decayed_weights(toy_problem):
    settings = {"epochs": 1, "weight_decay": 0.3, "decayed": ("first.*",)}
    model, stopped = toy_problem.train("gcn", Recipe(selection=WindowStop(), **settings))
    _, plain = toy_problem.train("gcn", Recipe(selection=HighestAccuracy(), **settings))
    penalty = 0.3 / 2 * model.first.weight.double().square().sum()
    assert_close((stopped.watched_loss - plain.watched_loss)[0, 0], penalty, 1e-5)


def test_history_has_a_row_for_every_epoch_run_and_a_column_for_every_replica(toy_problem):
    _, history = toy_problem.train("agnn", Recipe(epochs=7), seeds=(0, 1))
    for seen in (history.training_loss, history.watched_accuracy, history.watched_loss):
        assert seen.shape == (7, 2)
    assert history.selected_epochs.shape == (2,)
    _, blind = toy_problem.train("agnn", Recipe(epochs=7, selection=LastEpoch()), seeds=(0, 1))
    assert blind.training_loss.shape == (7, 2)
    assert blind.watched_accuracy.shape == blind.watched_loss.shape == (0, 2)
    assert blind.selected_epochs.tolist() == [7, 7]


def test_training_ends_soon_after_the_last_replica_has_stopped(toy_problem):
    recipe = Recipe(epochs=400, learning_rate=0.5, selection=WindowStop(2))
    _, history = toy_problem.train("gcn", recipe, seeds=(0, 1))
    epochs, last = history.training_loss.shape[0], int(history.selected_epochs.max())
    assert last <= epochs <= last + 10
    assert epochs < 400


def test_progress_is_reported_after_every_epoch(toy_problem):
    calls = []
    model = toy_problem.model("agnn", (0,))
    problem = toy_problem.problem(toy_problem.splits((0,)), (0,))
    train(model, problem, Recipe(epochs=3), lambda *step: calls.append(step))
    assert calls == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("rule", [HighestAccuracy(), WindowStop()])
def test_a_rule_that_watches_needs_nodes_to_watch(rule, toy_problem):
    blind = Split("blind", [10, 11, 12], [], [50, 51])
    with pytest.raises(InputError, match="'blind' has no validation nodes"):
        toy_problem.train("agnn", Recipe(selection=rule), splits=[blind])
    _, history = toy_problem.train("agnn", Recipe(epochs=2, selection=LastEpoch()), splits=[blind])
    assert history.selected_epochs.tolist() == [2]


@pytest.mark.parametrize(("splits", "seeds"), [(1, (0, 1)), (2, (0,))])
def test_every_replica_needs_a_split_and_a_seed(splits, seeds, toy_problem):
    with pytest.raises(InputError, match="2 replicas need as many splits and seeds"):
        train(
            toy_problem.model("agnn", (0, 1)),
            toy_problem.problem(toy_problem.splits((0,)) * splits, seeds),
            Recipe(),
        )


@pytest.mark.parametrize("kind", KINDS)
def test_validation_labels_choose_the_epoch_and_teach_nothing(kind, toy_problem):
    split, labels = toy_problem.data.split("fixed"), toy_problem.data.labels.copy()
    labels[split.validation] = (labels[split.validation] + 1) % 3
    labels[split.test] = (labels[split.test] + 1) % 3
    _, history = toy_problem.train(kind, Recipe(epochs=20))
    other = toy_problem.model(kind, (0,))
    flipped = train(other, toy_problem.problem([split], (0,), labels), Recipe(epochs=20))
    assert_same_bits(flipped.training_loss, history.training_loss)
    assert not torch.equal(flipped.watched_accuracy, history.watched_accuracy)


def test_probabilities_are_a_softmax_over_classes_for_every_node(toy_problem):
    model, _ = toy_problem.train("agnn", Recipe(epochs=5), seeds=(0, 1))
    found = probabilities(model, toy_problem.features, toy_problem.graph)
    logits = model(View.whole(toy_problem.features, toy_problem.graph, 2)).detach()
    assert_close(found, logits.exp() / logits.exp().sum(2, keepdim=True), 1e-6)
    assert found.shape == (2, 120, 3)
    assert not found.requires_grad


@pytest.mark.parametrize("kind", ["agnn", "gcn"])
def test_an_order_for_the_cache_changes_no_bit_of_a_training(kind, toy_problem, monkeypatch):
    recipe = Recipe(epochs=5, learning_rate=0.02, dropout=0.4, selection=HighestAccuracy())
    plain, history = toy_problem.train(kind, recipe, seeds=(3, 4))
    monkeypatch.setattr(_view, "_WORTH_ORDERING", 0)
    ordered, again = toy_problem.train(kind, recipe, seeds=(3, 4))
    assert_same_bits(again.training_loss, history.training_loss)
    assert_same_bits(again.watched_loss, history.watched_loss)
    for one, other in zip(ordered.parameters(), plain.parameters(), strict=True):
        assert_same_bits(one, other)
