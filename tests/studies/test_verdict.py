"""The rule: within twice the joint standard error, or a tolerance beyond it, and nothing else."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from agnn.metrics import Summary
from agnn.studies import ComparedCell, PaperFigure, Verdict
from agnn.studies._verdict import verdict


def ours(mean: float, error: float) -> Summary:
    """Two values with this mean and standard error."""
    found = Summary([mean - error, mean + error])
    assert found.standard_error == pytest.approx(error)
    return found


def paper(mean: float, error: float | None = None) -> PaperFigure:
    return PaperFigure("printed", mean, error)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_border_is_twice_the_joint_error_and_the_next_one_the_tolerance_beyond(sign):
    border = 2 * math.sqrt(0.3**2 + 0.4**2)
    assert border == pytest.approx(1.0)

    def found(distance: float) -> str:
        return verdict(paper(80, 0.4), ours(80 + sign * distance, 0.3), 0.1)

    assert found(border - 0.001) == "within 2 se"
    assert found(border + 0.001) == "within tolerance"
    assert found(border + 0.1 - 0.001) == "within tolerance"
    assert found(border + 0.1 + 0.001) == ("above" if sign > 0 else "below")


@pytest.mark.parametrize("word", get_args(Verdict))
def test_a_figure_is_reproduced_within_two_errors_or_the_tolerance(word):
    cell = ComparedCell(paper(80), ours(80, 0.1), word)
    assert cell.is_reproduced == (word in ("within 2 se", "within tolerance"))


def test_an_unknown_error_counts_as_none():
    assert verdict(paper(80), Summary([80.4]), 0.4) == "within tolerance"
    assert verdict(paper(80), Summary([80.41]), 0.4) == "above"
    assert verdict(paper(80), Summary([79.59]), 0.4) == "below"


def test_rounding_does_not_decide_at_the_border():
    assert 81.5 - 81.1 > 0.4
    assert verdict(paper(81.1), Summary([81.5]), 0.4) == "within tolerance"


def test_a_tolerance_of_nil_wants_the_same_number():
    assert verdict(paper(4732), Summary([4732]), 0) == "within 2 se"
    assert verdict(paper(4732), Summary([4731]), 0) == "below"


def test_an_empty_cell_and_a_missing_run_have_words_of_their_own():
    assert verdict(None, Summary([80]), 0.4) == "not in the paper"
    assert verdict(paper(80), None, 0.4) == "missing"
    assert verdict(None, None, 0.4) == "missing"


def test_z_is_the_difference_in_joint_standard_errors():
    cell = ComparedCell(paper(80, 0.4), ours(81.5, 0.3), "above")
    assert cell.z == pytest.approx(3.0)
    assert ComparedCell(paper(80), Summary([81.5]), "above").z is None
    assert ComparedCell(None, ours(81.5, 0.3), "not in the paper").z is None


@pytest.mark.parametrize(
    ("text", "error", "deviation"),
    [
        ("85.4", None, None),
        ("85.4 ± 0.4", 0.4, None),
        ("85.4 ± 0.4 (sd of 100)", 0.04, 0.4),
        ("85.4 ± 0.4 (sd)", None, 0.4),
    ],
)
def test_a_printed_standard_deviation_is_no_standard_error(text, error, deviation):
    found = PaperFigure.parse(text)
    assert (found.printed, found.mean, found.deviation) == (text, 85.4, deviation)
    assert found.standard_error == (None if error is None else pytest.approx(error))
