"""The rule: within twice the joint standard error and a tolerance, and nothing else."""

from __future__ import annotations

import math

import pytest

from agnn.experiments import PaperFigure, verdict
from agnn.metrics import Summary


def ours(mean: float, error: float) -> Summary:
    """Two values with this mean and standard error."""
    found = Summary([mean - error, mean + error])
    assert found.standard_error == pytest.approx(error)
    return found


def paper(mean: float, error: float | None = None) -> PaperFigure:
    return PaperFigure("printed", mean, error)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_border_is_twice_the_joint_error_and_the_tolerance(sign):
    border = 2 * math.sqrt(0.3**2 + 0.4**2) + 0.1  # 1.1
    assert border == pytest.approx(1.1)
    inside, outside = 80 + sign * (border - 0.001), 80 + sign * (border + 0.001)
    assert verdict(paper(80, 0.4), ours(inside, 0.3), 0.1) == "reproduced"
    assert verdict(paper(80, 0.4), ours(outside, 0.3), 0.1) == ("above" if sign > 0 else "below")


def test_an_unknown_error_counts_as_none():
    assert verdict(paper(80), Summary([80.4]), 0.4) == "reproduced"
    assert verdict(paper(80), Summary([80.41]), 0.4) == "above"
    assert verdict(paper(80), Summary([79.59]), 0.4) == "below"


def test_rounding_does_not_decide_at_the_border():
    assert 81.5 - 81.1 > 0.4
    assert verdict(paper(81.1), Summary([81.5]), 0.4) == "reproduced"


def test_a_tolerance_of_nil_wants_the_same_number():
    assert verdict(paper(4732), Summary([4732]), 0) == "reproduced"
    assert verdict(paper(4732), Summary([4731]), 0) == "below"


def test_an_empty_cell_and_a_missing_run_have_words_of_their_own():
    assert verdict(None, Summary([80]), 0.4) == "not in the paper"
    assert verdict(paper(80), None, 0.4) == "missing"
    assert verdict(None, None, 0.4) == "missing"
