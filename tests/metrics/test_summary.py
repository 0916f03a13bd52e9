"""n, mean, standard error and deviation, as the statistics module has them."""

from __future__ import annotations

import json
import random
import statistics

import pytest

from agnn.errors import InputError
from agnn.metrics import Summary


@pytest.mark.parametrize("n", [2, 3, 10, 100])
def test_a_summary_is_what_statistics_says(n):
    source = random.Random(n)  # noqa: S311 (no secret)
    values = [source.gauss(80, 3) for _ in range(n)]
    found = Summary(values)
    assert found.n == n
    assert found.mean == pytest.approx(statistics.mean(values), rel=1e-14)
    assert found.deviation == pytest.approx(statistics.stdev(values), rel=1e-12)
    assert found.standard_error == pytest.approx(statistics.stdev(values) / n**0.5, rel=1e-12)


def test_by_hand():
    assert Summary([1, 2, 3, 6]).to_dict() == {
        "mean": 3.0,
        "deviation": pytest.approx((14 / 3) ** 0.5),
        "standard_error": pytest.approx((14 / 12) ** 0.5),
        "n": 4,
        "values": [1.0, 2.0, 3.0, 6.0],
    }


def test_a_single_value_has_no_spread_and_says_so():
    single = Summary([81.5])
    assert (single.mean, single.deviation, single.standard_error) == (81.5, None, None)
    assert json.loads(json.dumps(single.to_dict()))["standard_error"] is None


def test_equal_values_have_none_at_all():
    assert Summary([0.1] * 10).deviation == pytest.approx(0.0, abs=1e-16)


def test_nothing_cannot_be_summarised():
    with pytest.raises(InputError, match="at least one value"):
        Summary([])
