"""Contributions of nodes to a measure, and the paired difference of two classifiers."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.errors import InputError
from agnn.metrics import MEASURES, METRICS, measure_difference, node_contributions


def drawn(classes: int, nodes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of unequal frequency and probabilities that know something about them."""
    source = np.random.default_rng(seed)
    labels = source.choice(
        classes, size=nodes, p=np.arange(1, classes + 1) / sum(range(classes + 1))
    )
    logits = source.normal(size=(nodes, classes)) + 1.2 * np.eye(classes)[labels]
    shares = np.exp(logits)
    return labels, shares / shares.sum(1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("metric", METRICS)
def test_the_mean_of_the_contributions_is_the_measure(metric, classes):
    labels, probabilities = drawn(classes, 300)
    found = node_contributions(metric, labels, probabilities)
    assert found.mean() == pytest.approx(MEASURES[metric](labels, probabilities))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("metric", METRICS)
def test_their_spread_gives_the_standard_error_that_resampling_gives(metric, classes):
    labels, probabilities = drawn(classes, 400)
    source = np.random.default_rng(1)
    values = []
    for _ in range(300):
        again = source.integers(400, size=400)
        values.append(MEASURES[metric](labels[again], probabilities[again]))
    error = node_contributions(metric, labels, probabilities).std(ddof=1) / np.sqrt(400)
    assert error == pytest.approx(np.std(values), rel=0.2)


def test_a_classifier_compared_with_itself_is_a_tie_and_a_clear_one_is_not():
    labels, good = drawn(3, 500)
    _, blind = drawn(3, 500, seed=9)
    nodes = [np.arange(500)] * 3
    own = [node_contributions("accuracy", labels, good)] * 3
    other = [node_contributions("accuracy", labels, blind)] * 3
    same = measure_difference(nodes, own, own)
    assert (same.mean, tuple(same.interval), same.is_tie) == (0.0, (0.0, 0.0), True)
    found = measure_difference(nodes, own, other)
    assert found.mean == pytest.approx(own[0].mean() - other[0].mean())
    assert not found.is_tie
    assert found.n == 3


def test_on_fixed_test_nodes_the_interval_has_both_kinds_of_spread():
    nodes, zeros = [np.arange(100)] * 4, [np.zeros(100)] * 4
    alike = [np.tile([0.0, 100.0], 50)] * 4  # every trial the same: only nodes vary
    found = measure_difference(nodes, alike, zeros)
    over_nodes = 1.96 * np.std(alike[0], ddof=1) / 10
    assert found.interval.high - found.mean == pytest.approx(over_nodes)
    shifted = [own + shift for own, shift in zip(alike, (-10, 10, -10, 10), strict=True)]
    found = measure_difference(nodes, shifted, zeros)
    over_trials = 1.96 * np.std([-10, 10, -10, 10], ddof=1) / 2
    assert found.interval.high - found.mean == pytest.approx(np.hypot(over_nodes, over_trials))


def test_a_measure_without_contributions_is_refused():
    with pytest.raises(InputError, match="for 'calibration_error'"):
        node_contributions("calibration_error", *drawn(3, 10))
