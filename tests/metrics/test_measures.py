"""Measures of predictions, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    log_loss as sklearn_log_loss,
    roc_auc_score,
)

import agnn.metrics._measures as metrics
from agnn.data import Split
from agnn.errors import InputError
from agnn.metrics import MEASURES, replica_values

LABELS = np.array([0, 0, 0, 1])
BINARY = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])


def drawn(classes: int, nodes: int = 200) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(classes)
    return source.integers(classes, size=nodes), source.dirichlet(np.ones(classes), size=nodes)


def test_measures_by_hand():
    predicted = BINARY.argmax(1)
    assert metrics.accuracy(LABELS, predicted) == 75.0
    assert metrics.balanced_accuracy(LABELS, predicted) == pytest.approx(100 * (2 / 3 + 1) / 2)
    # Class 0: precision 1, recall 2/3; class 1: precision 1/2, recall 1.
    assert metrics.macro_f1(LABELS, predicted) == pytest.approx(100 * (0.8 + 2 / 3) / 2)
    # Of the three pairs of a node of class 1 and one of class 0, two are in the right order.
    assert metrics.auc(LABELS, BINARY) == pytest.approx(200 / 3)
    assert metrics.log_loss(LABELS, BINARY) == pytest.approx(-np.log([0.9, 0.2, 0.6, 0.7]).mean())


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_measures_are_scikit_learns(classes):
    labels, probabilities = drawn(classes)
    scores = probabilities[:, 1] if classes == 2 else probabilities
    assert metrics.auc(labels, probabilities) == pytest.approx(
        100 * roc_auc_score(labels, scores, multi_class="ovr")
    )
    assert metrics.log_loss(labels, probabilities) == pytest.approx(
        sklearn_log_loss(labels, probabilities)
    )
    predicted = probabilities.argmax(1)
    assert metrics.balanced_accuracy(labels, predicted) == pytest.approx(
        100 * balanced_accuracy_score(labels, predicted)
    )
    labels[labels == 0] = classes  # one class is predicted and never true, another is the reverse
    assert metrics.macro_f1(labels, predicted) == 100 * f1_score(labels, predicted, average="macro")


def test_a_class_without_nodes_does_not_count():
    labels, probabilities = np.array([0, 0, 1]), np.array([[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]])
    assert metrics.auc(labels, probabilities) == 100.0
    assert metrics.balanced_accuracy(labels, probabilities.argmax(1)) == 100.0
    assert np.isnan(metrics.auc(np.zeros(3, dtype=int), probabilities))


def test_a_probability_of_zero_for_the_true_class_has_a_finite_loss():
    assert metrics.log_loss(np.array([0]), np.array([[0.0, 1.0]])) == pytest.approx(
        27.631, abs=1e-3
    )


def test_nothing_to_measure_and_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="got 0 and 0"):
        metrics.accuracy(np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    with pytest.raises(InputError, match="got 4 and 3"):
        metrics.auc(LABELS[:3], BINARY)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_taken_on_each_replicas_own_test_nodes(name, toy):
    splits = [Split("a", [0], [1], list(range(2, 60))), Split("b", [0], [1], list(range(60, 100)))]
    scores = torch.rand(2, toy.nodes, 3, generator=torch.Generator().manual_seed(0)).double()
    scores /= scores.sum(-1, keepdim=True)
    found = replica_values(name, scores, toy, splits)
    for own, split, value in zip(scores.numpy(), splits, found, strict=True):
        assert value == pytest.approx(MEASURES[name](toy.labels[split.test], own[split.test]))


def test_an_unknown_measure_is_named_with_the_nearest_one(toy):
    with pytest.raises(InputError, match="did you mean 'accuracy'"):
        replica_values("accurcy", torch.zeros(1, toy.nodes, 3), toy, [toy.split("fixed")])


def test_to_choose_by_an_auc_that_is_not_defined_is_to_choose_by_chance():
    labels, probabilities = np.zeros(3, dtype=int), np.full((3, 2), 0.5)
    assert np.isnan(MEASURES["auc"](labels, probabilities))
    assert MEASURES["auc"].score(labels, probabilities) == 50.0
    assert MEASURES["log_loss"].score(labels, probabilities) == pytest.approx(np.log(0.5))
