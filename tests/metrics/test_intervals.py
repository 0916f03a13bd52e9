"""Wilson's interval is where its equation says, and as in the tables."""

from __future__ import annotations

import pytest

from agnn.errors import InputError
from agnn.metrics import Interval

Z = 1.959963984540054


@pytest.mark.parametrize(
    ("right", "count", "ends"),
    [
        # From prop.test(8, 10, correct = FALSE) and its like in R.
        (8, 10, (0.4901625, 0.9433178)),
        (50, 100, (0.4038315, 0.5961685)),
        (0, 10, (0.0, 0.2775328)),
        (10, 10, (0.7224672, 1.0)),
    ],
)
def test_the_ends_are_those_of_the_tables(right, count, ends):
    assert Interval.wilson(right, count) == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize(("right", "count"), [(1, 3), (832, 1000), (1, 1000), (7, 8)])
def test_both_ends_solve_the_equation(right, count):
    share = right / count
    for p in Interval.wilson(right, count):
        assert (share - p) ** 2 == pytest.approx(Z**2 * p * (1 - p) / count, rel=1e-9)


def test_in_percent_it_is_a_hundred_times_as_large():
    assert Interval.percent(8, 10) == pytest.approx((49.01625, 94.33178), abs=1e-4)


@pytest.mark.parametrize(("right", "count"), [(0, 0), (-1, 4), (5, 4)])
def test_a_share_that_cannot_be_is_refused(right, count):
    with pytest.raises(InputError, match=f"got {right} of {count}"):
        Interval.wilson(right, count)
