"""Contributions of nodes to a measure, and the paired difference of two classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from agnn.errors import InputError
from agnn.metrics import MEASURES, TrialDifference, node_contributions
from agnn.metrics._measures import METRICS


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
    same = TrialDifference.between(nodes, own, own)
    assert (same.mean, tuple(same.interval), same.is_tie) == (0.0, (0.0, 0.0), True)
    found = TrialDifference.between(nodes, own, other)
    assert found.mean == pytest.approx(own[0].mean() - other[0].mean())
    assert not found.is_tie
    assert found.n == 3


def test_on_fixed_test_nodes_the_interval_has_both_kinds_of_spread():
    nodes, zeros = [np.arange(100)] * 4, [np.zeros(100)] * 4
    alike = [np.tile([0.0, 100.0], 50)] * 4  # every trial the same: only nodes vary
    found = TrialDifference.between(nodes, alike, zeros)
    over_nodes = np.var(alike[0], ddof=1) / 100
    assert found.interval.high - found.mean == pytest.approx(1.96 * np.sqrt(over_nodes))
    shifted = [own + shift for own, shift in zip(alike, (-10, 10, -10, 10), strict=True)]
    found = TrialDifference.between(nodes, shifted, zeros)
    over_trials = np.var([-10, 10, -10, 10], ddof=1) / 4
    both = over_nodes + over_trials
    # Satterthwaite: the part over trials has three degrees of freedom, the other one many.
    quantile = student.ppf(0.975, 3 * (both / over_trials) ** 2)
    assert found.interval.high - found.mean == pytest.approx(quantile * np.sqrt(both))


def test_trials_without_a_node_in_common_vary_by_no_more_than_their_spread():
    """Their spread holds that of the nodes already: it must not be counted again."""
    source = np.random.default_rng(0)
    nodes = [np.arange(50) + 50 * r for r in range(8)]
    gaps = [source.normal(size=50) + shift for shift in source.normal(0.0, 0.3, size=8)]
    found = TrialDifference.between(nodes, gaps, [np.zeros(50)] * 8)
    variance = np.var([gap.mean() for gap in gaps], ddof=1) / 8
    over_nodes = np.mean([gap.var(ddof=1) / 50 for gap in gaps]) / 8
    freedom = 7 * (variance / (variance - over_nodes)) ** 2
    assert found.interval.high - found.mean == pytest.approx(
        student.ppf(0.975, freedom) * np.sqrt(variance)
    )


def test_one_trial_of_one_node_says_nothing():
    found = TrialDifference.between([np.array([3])], [np.array([100.0])], [np.array([0.0])])
    assert tuple(found.interval) == (-np.inf, np.inf)


def crossed(source: np.random.Generator, trials: int, is_drawn: bool, by_trial: float) -> tuple:
    """Test nodes and gaps of trials whose true mean is 1: effects of node, trial and both."""
    pool, tested = 1000, 200
    effect = source.normal(size=pool)
    nodes = [source.permutation(pool)[:tested] for _ in range(trials)]
    if not is_drawn:
        nodes = nodes[:1] * trials
    shifts = source.normal(0.0, by_trial / np.sqrt(tested), size=trials)
    gaps = [
        1.0 + effect[own] + shift + source.normal(size=tested)
        for own, shift in zip(nodes, shifts, strict=True)
    ]
    return nodes, gaps


@pytest.mark.parametrize("by_trial", [0.0, 1.0], ids=["no effect of trials", "one of them"])
@pytest.mark.parametrize("is_drawn", [False, True], ids=["fixed test nodes", "drawn"])
@pytest.mark.parametrize("trials", [5, 10])
def test_the_interval_holds_the_truth_nineteen_times_out_of_twenty(trials, is_drawn, by_trial):
    source = np.random.default_rng(trials)
    zeros = [np.zeros(200)] * trials
    means, reaches = [], []
    for _ in range(800):
        nodes, gaps = crossed(source, trials, is_drawn, by_trial)
        found = TrialDifference.between(nodes, gaps, zeros)
        means.append(found.mean)
        reaches.append(found.interval.high - found.mean)
    coverage = np.mean(np.abs(np.subtract(means, 1.0)) <= reaches)
    assert 0.915 <= coverage <= 0.975
    assert np.mean(reaches) <= 1.17 * 1.96 * np.std(means)


def test_equal_probabilities_win_half_in_the_contributions_to_auc():
    labels = np.array([1, 1, 0, 0])
    chances = np.array([0.9, 0.5, 0.5, 0.1])  # of class 1: one pair of the four is equal
    found = node_contributions("auc", labels, np.column_stack([1.0 - chances, chances]))
    # Of the other class each node is ahead of: both, one and a half, one and a half, both.
    won = np.array([1.0, 0.75, 0.75, 1.0])
    assert found == pytest.approx(100.0 * (won.mean() + (won - won.mean()) * 2))
    assert found.mean() == pytest.approx(100.0 * 3.5 / 4)


def test_a_measure_without_contributions_is_refused():
    with pytest.raises(InputError, match="for 'calibration_error'"):
        node_contributions("calibration_error", *drawn(3, 10))


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f1", "auc", "log_loss"])
def test_contributions_of_float32_probabilities_are_in_double_precision(metric: str) -> None:
    labels, probabilities = drawn(3, 400)
    short = probabilities.astype(np.float32)
    found = node_contributions(metric, labels, short)
    expected = node_contributions(metric, labels, short.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
