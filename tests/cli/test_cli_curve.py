"""`agnn curve`: the curve as text, CSV and JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from agnn.data import NodeData
from agnn.decisions import learning_curve
from agnn.runs import evaluate, save_run


@pytest.fixture
def place(here: Path, toy: NodeData) -> Path:
    save_run(evaluate("agnn", toy, "5-fold-cross-fit", [0], changes={"epochs": 3}), here / "run")
    return here


def test_all_forms_hold_the_same_points(agnn: Any, place: Path, toy: NodeData) -> None:
    run = evaluate("agnn", toy, "5-fold-cross-fit", [0], changes={"epochs": 3})
    curve = learning_curve(run, repeats=1)
    record = json.loads(agnn("curve run --repeats 1 --json --out curve.csv").out)
    assert record["measured"] == [point.to_dict() for point in curve.points]
    assert record["out"] == "curve.csv"
    with (place / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["labels"]) for row in rows] == [point.labels for point in curve.points]
    assert {row["kind"] for row in rows} == {"measured"}
    answer = agnn("curve run --repeats 1 --quiet")
    assert (answer.code, answer.err) == (0, "")
    assert "There is no extrapolation" in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("curve run --repeats 0", "`repeats` (--repeats) must be from 1 to 100; got 0."),
        ("curve nowhere", "'nowhere' is not a run folder: there is no such folder."),
        ("curve run --out curve.txt", "'curve.txt' must end in .csv to be written."),
    ],
)
def test_a_mistake_is_one_line(agnn: Any, place: Path, line: str, expected: str) -> None:
    answer = agnn(line)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"error: {expected}\n"
    assert [path.name for path in place.iterdir()] == ["run"]
