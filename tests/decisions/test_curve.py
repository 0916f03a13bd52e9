"""Learning curves: shares of the labels, honest tests, and an extrapolation that is marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agnn.data import Split
from agnn.decisions import learning_curve
from agnn.decisions._curve import _point, draw_splits, fit_power_law
from agnn.errors import InputError
from agnn.methods import Ridge
from agnn.metrics import Summary
from agnn.runs import evaluate


def test_a_curve_ends_at_the_run_itself(toy):
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0, 1])
    curve = learning_curve(run, repeats=2)
    assert [point.labels for point in curve.points] == [12, 24, 48, 72, 96]
    assert curve.points[-1].accuracy == run.accuracy
    for point in curve.points:
        assert point.interval.low < point.accuracy.mean < point.interval.high
        assert point.accuracy.n == 2


def test_drawn_labels_are_cross_fitted_among_themselves(toy):
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0])
    splits = draw_splits(run, 0.5, repeats=2)
    assert len(splits) == 10
    for first in (0, 5):
        folds = splits[first : first + 5]
        drawn = np.sort(np.concatenate([split.test for split in folds]))
        assert drawn.size == pytest.approx(toy.nodes / 2, abs=2)
        for split in folds:
            assert np.sort(np.concatenate([split.train, split.test])).tolist() == drawn.tolist()
    tests = [np.concatenate([split.test for split in splits[k : k + 5]]) for k in (0, 5)]
    assert set(tests[0]) != set(tests[1])


def test_a_share_keeps_the_classes_in_proportion_and_holds_the_smaller_share(toy):
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0])
    quarter, half = (
        np.concatenate([split.test for split in draw_splits(run, share, 1)])
        for share in (0.25, 0.5)
    )
    assert set(quarter) <= set(half)
    whole = np.bincount(toy.labels)
    assert np.abs(np.bincount(toy.labels[half]) - whole / 2).max() <= 1


def test_a_point_is_the_accuracy_on_all_labels_that_a_replica_has_not_learned(toy):
    method = Ridge(views=("X",), penalties=(1.0,))  # nothing to choose
    run = evaluate(method, toy, "5-fold-cross-fit", [0])
    point = learning_curve(run, repeats=1).points[2]
    accuracies = []
    for split in draw_splits(run, 0.5, 1):
        others = np.setdiff1d(toy.labelled, split.train)
        alone = evaluate(method, toy, Split("alone", split.train, [], others), [0])
        accuracies.append(alone.accuracy.mean)
    assert point.accuracy.mean == pytest.approx(np.mean(accuracies))


def test_other_splits_keep_their_validation_and_test_nodes(larger_toy):
    run = evaluate("ridge", larger_toy, "stratified", [0, 1])
    splits = draw_splits(run, 0.25, repeats=3)
    for repeat, split in enumerate(splits):
        original = run.splits[repeat % 2]
        assert split.test.tolist() == original.test.tolist()
        assert split.validation.tolist() == original.validation.tolist()
        assert set(split.train) <= set(original.train)
        assert split.train.size == pytest.approx(original.train.size / 4, abs=2)


def test_a_share_is_trained_as_if_the_other_labels_were_not_there(toy):
    run = evaluate("agnn", toy, "5-fold-cross-fit", [0], changes={"epochs": 20})
    point = learning_curve(run, repeats=1).points[2]
    splits = draw_splits(run, 0.5, 1)
    labels = np.full(toy.nodes, -1)
    for split in splits:
        labels[split.test] = toy.labels[split.test]
    half = replace(toy, labels=labels, splits={})
    alone = evaluate("agnn", half, "5-fold-cross-fit", [0], changes={"epochs": 20})
    assert alone.splits == splits
    answers = alone.scores.argmax(-1).numpy()
    accuracies = []
    for replica, split in enumerate(splits):
        others = np.setdiff1d(toy.labelled, split.train)
        accuracies.append(100 * np.mean(answers[replica][others] == toy.labels[others]))
    assert point.accuracy.mean == pytest.approx(np.mean(accuracies))


def test_a_power_law_is_found_again():
    labels = np.array([20.0, 40.0, 80.0, 160.0])
    values = 90.0 - 120.0 * labels**-0.8
    found = fit_power_law(labels, values, np.ones(4), np.array([320.0, 640.0]))
    assert found == pytest.approx(90.0 - 120.0 * np.array([320.0, 640.0]) ** -0.8, abs=0.05)


def test_an_extrapolation_neither_falls_nor_passes_100_percent():
    labels = np.array([20.0, 40.0, 80.0, 160.0])
    wanted = np.array([320.0, 1e6])
    falling = fit_power_law(labels, np.array([80.0, 79.0, 78.0, 77.0]), np.ones(4), wanted)
    assert falling == pytest.approx([78.5, 78.5])
    rising = fit_power_law(labels, np.array([40.0, 60.0, 80.0, 99.0]), np.ones(4), wanted)
    assert rising.max() <= 100.0


def test_extrapolations_are_marked_and_stop_at_the_number_of_nodes(toy, larger_toy):
    few = replace(larger_toy, labels=np.where(np.arange(6000) < 200, larger_toy.labels, -1))
    run = evaluate("ridge", replace(few, splits={}), "5-fold-cross-fit", [0])
    curve = learning_curve(run, repeats=1)
    assert [point.labels for point in curve.extrapolations] == [320, 640]
    kinds = [record["kind"] for record in curve.table.records()]
    assert kinds == ["measured"] * len(curve.points) + ["extrapolated"] * 2
    assert curve.sentences[1].startswith("Extrapolation: 320 training labels may give")
    for point in curve.extrapolations:
        assert point.interval.low <= point.accuracy <= point.interval.high
    whole = learning_curve(evaluate("ridge", toy, "5-fold-cross-fit", [0]), repeats=1)
    assert whole.extrapolations == ()
    assert "There is no extrapolation" in whole.sentences[-1]


def test_few_draws_make_wide_intervals_and_a_single_one_is_named(toy):
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0])
    splits = draw_splits(run, 0.5, 2)
    tested = _point(run, splits, Summary([70.0])).interval
    few, many = (_point(run, splits, Summary([60.0, 80.0] * n)).interval for n in (1, 50))
    of_tests = 100.0 * np.sqrt(0.7 * 0.3 / toy.nodes)
    assert few == (0.0, 100.0)  # Student's quantile for about 1.4 degrees of freedom is 7
    assert many.high - 70.0 == pytest.approx(1.96 * np.hypot(1.0, of_tests), rel=0.01)
    assert tested.high - 70.0 == pytest.approx(1.96 * of_tests, rel=0.001)
    once, twice = (learning_curve(run, repeats=repeats).sentences for repeats in (1, 2))
    assert any("drawn once" in sentence for sentence in once)
    assert not any("drawn once" in sentence for sentence in twice)


def test_too_few_labels_are_refused(tiny):
    run = evaluate("ridge", tiny, "fixed", [0])
    with pytest.raises(InputError, match="2 training labels are too few for a curve"):
        learning_curve(run)


@pytest.mark.parametrize("repeats", [0, 101])
def test_a_wrong_number_of_repeats_is_refused(toy, repeats):
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0])
    with pytest.raises(InputError, match=f"must be from 1 to 100; got {repeats}"):
        learning_curve(run, repeats=repeats)
