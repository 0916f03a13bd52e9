"""The figures of docs/notes/faithfulness.md are those that were measured and committed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.faithfulness_tables import all_tables

from agnn.metrics import Summary

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/faithfulness.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/notes/faithfulness.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(all_tables(RESULTS)))
def test_the_page_has_the_table(name):
    assert all_tables(RESULTS)[name] in PAGE


@pytest.mark.parametrize("dataset", list(RESULTS))
@pytest.mark.parametrize("part", ["own", "around", "peer own", "peer around"])
def test_every_mean_and_error_is_that_of_its_values(dataset, part):
    for order in RESULTS[dataset].get(part, {}).values():
        for records in order.values():
            for record in filter(None, records.values()):
                again = Summary(record["values"])
                assert record["n"] == again.n
                assert record["mean"] == pytest.approx(again.mean, abs=1e-5)
                if again.n > 1:
                    assert record["standard_error"] == pytest.approx(again.standard_error, abs=1e-5)
