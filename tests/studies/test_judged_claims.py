"""Claims about two rows: paired by seed, judged by the sign beyond two standard errors."""

from __future__ import annotations

import pytest
from tests.studies.small_tables import small_table
from tests.studies.test_counts import finished

from agnn.errors import DataError
from agnn.metrics import Summary
from agnn.studies import JudgedClaim, Store
from agnn.studies._selection import Choice
from agnn.studies._spec import Claim
from agnn.studies._verdict import compare_table

TABLE = """
title = "Small"
place = "Table 1"
seeds = 3
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "AGNN"
method = "agnn"
paper = ["83.1 ± 0.08"]
[[rows]]
title = "GLN"
method = "gln"
paper = ["81.2"]
[[claims]]
text = "AGNN is better"
first = "AGNN"
second = "GLN"
"""


def test_differences_are_paired_by_seed():
    table = small_table(TABLE)
    store = finished(table, {"AGNN": [83.0, 81.0, None], "GLN": [82.0, None, 80.5]})
    (judged,) = compare_table(table, store).claims
    (margin,) = judged.margins
    assert margin.ours.values == (1.0,)
    store = finished(table, {"AGNN": [83.0, 81.0, 84.0], "GLN": [82.0, 80.5]})
    (judged,) = compare_table(table, store).claims
    (margin,) = judged.margins
    assert margin.ours.values == (1.0, 0.5)
    assert margin.paper == pytest.approx(1.9)
    assert margin.surplus == pytest.approx((0.75 - 1.9) / margin.ours.standard_error)
    assert judged.word(margin.ours) == "holds"


@pytest.mark.parametrize(
    ("values", "word", "or_equal"),
    [
        ([1.0, 1.2, 0.9], "holds", "holds"),
        ([1.0, -1.2, 0.5], "undecided", "holds"),
        ([-1.0, 1.2, -0.5], "undecided", "holds"),
        ([-1.0, -1.2, -0.9], "reversed", "reversed"),
        ([0.0, 0.0], "undecided", "holds"),
    ],
)
def test_a_claim_holds_beyond_two_standard_errors(values, word, or_equal):
    for is_weak, expected in ((False, word), (True, or_equal)):
        judged = JudgedClaim(Claim("A is better", "A", "B", is_weak), ())
        assert judged.word(Summary(values)) == expected
    assert judged.word(None) == "missing"


def test_a_claim_about_rows_that_were_not_chosen_is_left_out():
    chosen = Choice(methods=frozenset({"gln"})).narrow(small_table(TABLE))
    assert compare_table(chosen, Store.in_memory()).claims == ()


def test_a_claim_about_a_row_that_does_not_exist_is_an_error_of_the_file():
    with pytest.raises(DataError, match=r"small.toml, claims\[0\]: there is no row 'GLM'"):
        small_table(TABLE.replace('second = "GLN"', 'second = "GLM"'))
    with pytest.raises(DataError, match=r"claims\[0\]: unknown key `third`"):
        small_table(TABLE + 'third = "x"\n')
