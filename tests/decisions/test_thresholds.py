"""The probability from which to act on a class, for a precision, a recall or costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up_runs import folded_run, made_up_data, made_up_run

from agnn.data import Split
from agnn.decisions import choose_threshold
from agnn.errors import InputError
from agnn.metrics import Interval
from agnn.runs import Run


def run_of_shares(shares: list[float], is_class: list[bool]) -> Run:
    """One replica; the tested nodes have these probabilities of class 1."""
    nodes = 5 + len(shares)
    data = made_up_data(nodes, classes=2)
    labels = np.array([0, 1, 0, 1, 0, *map(int, is_class)])
    first = np.full(nodes, 0.5)
    first[5:] = shares
    scores = np.stack([1.0 - first, first], axis=1)[None]
    split = Split("fixed", list(range(5)), [], list(range(5, nodes)))
    return made_up_run(replace(data, labels=labels), scores, [split])


SHARES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
OF_CLASS = [True, True, False, True, False, False]


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ({"precision": 1.0}, 0.8),
        ({"precision": 0.75}, 0.6),  # 3 of 4: the lowest one, though 0.7 has 2 of 3
        ({"precision": 0.5}, 0.4),
        ({"recall": 1.0}, 0.6),
        ({"recall": 0.5}, 0.8),
        ({"recall": 0.01}, 0.9),
        ({"costs": (1.0, 1.0)}, 0.8),
        ({"costs": (1.0, 3.0)}, 0.6),
        ({"costs": (3.0, 1.0)}, 0.8),
    ],
)
def test_the_threshold_is_the_one_that_counting_gives(goal, expected) -> None:
    run = run_of_shares(SHARES, OF_CLASS)
    threshold = choose_threshold(run, "class 1", **goal, calibrate_on="test")
    assert threshold.probability == pytest.approx(expected)


def test_nodes_of_equal_probability_are_acted_on_together() -> None:
    run = run_of_shares([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    assert choose_threshold(
        run, "class 1", precision=1.0, calibrate_on="test"
    ).probability == pytest.approx(0.9)


def test_goals_out_of_reach_are_refused_with_what_can_be_reached() -> None:
    run = run_of_shares([0.9, 0.8, 0.7, 0.6], [False, True, False, False])
    with pytest.raises(InputError, match=r"precision of 0.95; the highest on 4 labels is 0.500"):
        choose_threshold(run, "class 1", precision=0.95, calibrate_on="test")
    with pytest.raises(InputError, match="cheapest never to act on 'class 1'"):
        choose_threshold(run, "class 1", costs=(5.0, 1.0), calibrate_on="test")


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ({}, "has one goal: `precision`, `recall` or `costs`; got none"),
        ({"precision": 0.9, "recall": 0.9}, "got precision and recall"),
        ({"precision": 0.0}, "`precision` must be above 0 and at most 1"),
        ({"recall": 95.0}, "`recall` must be above 0 and at most 1"),
        ({"costs": (-1.0, 1.0)}, "`costs` are two numbers from 0"),
        ({"costs": (0.0, 0.0)}, "`costs` are two numbers from 0"),
        ({"costs": 5}, "`costs` are two numbers from 0.*got 5"),
        ({"costs": (1.0, float("nan"))}, "`costs` are two numbers from 0"),
        ({"precision": "0.9"}, "`precision` must be above 0 and at most 1.*got '0.9'"),
    ],
)
def test_goals_that_make_no_sense_are_refused(goal, words) -> None:
    with pytest.raises(InputError, match=words):
        folded_run().choose_threshold("class 1", **goal)


def test_an_unknown_class_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown class 'class 9'; did you mean 'class"):
        folded_run().choose_threshold("class 9", precision=0.5)


def test_precision_and_recall_are_those_of_thresholds_chosen_without_the_judged_nodes() -> None:
    """Labels that say nothing: the best threshold looks good where it was chosen, not here."""
    rng = np.random.default_rng(0)
    chosen, judged, sizes = [], [], []
    for _ in range(40):
        shares = [1.0, *rng.random(99).tolist()]  # some threshold reaches every goal
        is_class = [True, *(rng.random(99) < 0.5).tolist()]
        run = run_of_shares(shares, is_class)
        threshold = choose_threshold(run, "class 1", precision=0.6, calibrate_on="test")
        acted = np.array(shares) >= threshold.probability - 1e-12
        chosen.append(np.array(is_class)[acted].mean())
        judged.append(threshold.precision.count)
        sizes.append(threshold.precision.of)
    assert min(chosen) >= 0.6 - 1e-9
    assert sum(judged) / sum(sizes) == pytest.approx(0.5, abs=0.06)


def test_figures_come_with_wilsons_interval_and_a_warning_where_the_goal_is_not_certain() -> None:
    threshold = folded_run(nodes=200).choose_threshold("class 1", precision=0.6)
    share = threshold.precision
    assert share.interval == Interval.percent(share.count, share.of)
    assert 0 < share.count < share.of
    assert threshold.warning is not None
    assert f"may be as low as {share.interval.low:.1f} % (wanted: 60 %)" in threshold.warning
    assert f"precision {share.text}, recall" in threshold.sentence
    assert folded_run(nodes=200).choose_threshold("class 1", costs=(1, 2)).warning is None


def test_a_column_says_on_which_nodes_to_act() -> None:
    run = folded_run(nodes=90)
    threshold = run.choose_threshold("class 1", recall=0.8)
    predictions = threshold.apply(run.predict())
    column = predictions.to_dict()["act_on_class_1"]
    expected = run.probabilities[:, 1] >= threshold.probability
    assert column == expected.tolist()
    assert threshold.to_dict()["column"] == "act_on_class_1"
