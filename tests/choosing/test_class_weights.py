"""Class weights: what a training node counts, by its label."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from agnn.choosing import Tuned, class_weights
from agnn.data import Split
from agnn.errors import InputError
from agnn.graph import Graph, SparseFeatures
from agnn.methods import get_method
from agnn.runs import evaluate
from agnn.training import Targets
from properties import assert_close

METHOD = get_method("gcn")(epochs=5)


def test_the_loss_is_torchs_weighted_mean_and_accuracy_stays_a_plain_share(toy):
    sets = [np.array([7, 3, 50, 60, 61]), np.array([3, 9])]
    weights = np.array([[0.5, 1.0, 4.0], [2.0, 3.0, 1.0]])
    graph = Graph.from_edges(toy.edges, toy.nodes)
    features = SparseFeatures.from_scipy(toy.scaled_features("sum"))
    targets = Targets.build(features, graph, toy.labels, sets, 2, weights)
    every = torch.randn(2, toy.nodes, 3, generator=torch.Generator().manual_seed(0))
    picked = targets.pick(every[:, targets.view.field.targets])
    labels = torch.tensor(toy.labels)
    for r, nodes in enumerate(sets):
        own = torch.tensor(weights[r], dtype=torch.float32)
        expected = F.cross_entropy(every[r, nodes], labels[nodes], weight=own)
        assert_close(targets.losses(picked, "auto")[r], expected, 1e-6)
        right = (every[r, nodes].argmax(1) == labels[nodes]).double().mean()
        assert_close(targets.accuracies(picked)[r].double(), right, 1e-6)


def test_balanced_gives_every_class_the_same_total(toy):
    split = toy.split("fixed")
    (weights,) = class_weights("balanced", METHOD, toy, [split])
    counts = np.bincount(toy.labels[split.train], minlength=3)
    assert weights * counts == pytest.approx(np.full(3, split.train.size))


def test_a_mapping_names_classes_and_the_others_weigh_one(toy):
    weights = class_weights({"green": 2.5}, METHOD, toy, [toy.split("fixed")] * 2)
    assert weights.tolist() == [[1, 2.5, 1]] * 2


def test_watched_nodes_are_never_weighted(toy):
    still = METHOD.with_fields(learning_rate=1e-30)  # the same weights, whatever the loss
    plain = evaluate(still, toy, "fixed").history
    heavy = evaluate(still, toy, "fixed", class_weight={"blue": 50.0}).history
    assert not torch.equal(heavy.training_loss, plain.training_loss)
    assert torch.equal(heavy.watched_loss, plain.watched_loss)
    assert torch.equal(heavy.watched_accuracy, plain.watched_accuracy)


def test_equal_weights_change_nothing_and_a_heavy_class_is_answered_more(toy):
    plain = evaluate(METHOD, toy, "fixed")
    equal = evaluate(METHOD, toy, "fixed", class_weight=dict.fromkeys(toy.class_names, 1.0))
    assert_close(equal.scores, plain.scores, 1e-5)
    heavy = evaluate(METHOD, toy, "fixed", class_weight={"blue": 50.0})
    assert heavy.scores[..., 2].mean() > plain.scores[..., 2].mean() + 0.01


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("even", "must be 'balanced' or a mapping; got 'even'"),
        ({"gren": 1.0}, "unknown class in `class_weight` 'gren'; did you mean 'green'"),
        ({"green": 0.0}, "the weight of class 'green' must be above 0; got 0.0"),
        ({"green": float("nan")}, "must be above 0; got nan"),
    ],
)
def test_weights_that_cannot_be_are_refused(toy, wanted, words):
    with pytest.raises(InputError, match=words):
        evaluate(METHOD, toy, "fixed", class_weight=wanted)


def test_a_method_without_a_network_takes_no_weights(toy):
    with pytest.raises(InputError, match="label_propagation does not take class weights; agnn"):
        evaluate(get_method("label_propagation")(), toy, "fixed", class_weight="balanced")


def test_a_tuned_network_takes_weights_for_every_split(toy):
    """The candidates of each split are trained with the weights of its own replicas."""
    tuned = Tuned(get_method("dynamic_filter")(epochs=3))
    plain = evaluate(tuned, toy, "uniform", (0, 1))
    weighted = evaluate(tuned, toy, "uniform", (0, 1), class_weight={"red": 50.0})
    red = [run.scores[..., 0].mean((1,)) for run in (plain, weighted)]
    assert (red[1] > red[0]).all()


def test_a_tuned_method_without_a_network_names_the_methods_that_take_weights(toy):
    with pytest.raises(InputError, match="ica does not take class weights; agnn"):
        evaluate(Tuned(get_method("ica")()), toy, "fixed", class_weight="balanced")


def test_a_class_without_a_training_node_has_a_weight_all_the_same(toy):
    only = Split("only", np.flatnonzero(toy.labels == 0)[:4], [], [])
    assert np.isfinite(class_weights("balanced", METHOD, toy, [only])).all()
