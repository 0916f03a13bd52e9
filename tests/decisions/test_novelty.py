"""Nodes unlike the labelled ones, with a rate of false alarms that holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from made_up_runs import fixed_run, folded_run

from agnn.errors import InputError
from agnn.runs import KnownResults


@pytest.mark.parametrize("rate", ["0.05", "0.1", "0.5"])
def test_each_node_left_out_in_turn_is_flagged_exactly_as_often_as_allowed(rate: str) -> None:
    run = fixed_run(nodes=65)
    ids = [run.data.node_ids[node] for node in run.split.test]
    flagged = 0
    for left_out in ids:
        others = [node_id for node_id in ids if node_id != left_out]
        novelty = run.predict_novelty(float(rate), [left_out], calibrate_on=others)
        flagged += int(novelty.is_novel[0])
    assert flagged == floor(len(ids) * Fraction(rate))


def test_the_score_is_doubt_averaged_over_two_hops() -> None:
    run = fixed_run()
    doubt = 1.0 - run.scores.numpy().mean(0).max(1)
    for _ in range(2):
        ring = doubt[:58]
        beside = np.concatenate([(np.roll(ring, 1) + np.roll(ring, -1)) / 2, doubt[58:]])
        doubt = 0.5 * doubt + 0.5 * beside
    novelty = run.predict_novelty(0.1, calibrate_on="test")
    np.testing.assert_allclose(novelty.rule.reference.values, doubt[5:])


def test_nodes_of_an_unknown_class_are_flagged() -> None:
    run = fixed_run(nodes=200)
    scores = run.scores.clone()
    scores[:, 100:120] = 1 / 3
    known = [run.data.node_ids[k] for k in run.split.test if not 98 <= k < 122]
    strange = replace(run, known=KnownResults(scores=scores, temperature=1.0))
    novelty = strange.predict_novelty(0.05, calibrate_on=known)
    assert novelty.is_novel[102:118].all()
    assert novelty.is_novel[130:].mean() < 0.1


def test_known_and_flagged_nodes_are_columns() -> None:
    run = folded_run(nodes=90)
    novelty = run.predict_novelty(0.1)
    columns = novelty.apply(run.predict()).to_dict()
    assert columns["novelty_p_value"] == novelty.p_values.tolist()
    assert columns["is_novel"] == novelty.is_novel.tolist()
    assert novelty.is_novel.sum() == 9
    assert novelty.rule.guarantee.startswith("About 10 % of the nodes that are like the 90 label")


@pytest.mark.parametrize("rate", [0.0, 1.0, 5.0, float("nan")])
def test_a_rate_outside_0_and_1_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match=r"`false_alarms` \(--novelty\) must be between 0 and 1"):
        folded_run().predict_novelty(rate)


def test_too_few_labels_for_the_rate_are_refused_with_the_number_needed() -> None:
    with pytest.raises(InputError, match=r"need at least 99 labels to calibrate; there are 60"):
        folded_run().predict_novelty(0.01)
