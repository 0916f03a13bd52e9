"""`agnn suggest`: nodes to label next, from tables without labels and from a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from agnn import read_tables
from agnn.decisions import suggest
from agnn.runs import evaluate, save_run
from own_tables import write_tables

TABLES = "--nodes nodes.csv --edges edges.csv --text motto"


@pytest.fixture
def place(here: Path) -> Path:
    write_tables(here)
    return here


@pytest.mark.usefixtures("place")
def test_tables_without_a_label_have_suggestions(agnn: Any) -> None:
    answer = agnn(f"suggest {TABLES} --ignore topic --count 4")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("4 nodes that together stand for all 60 without a label.")
    data = read_tables("nodes.csv", "edges.csv", text="motto", ignore=["topic"])
    for node in suggest(data, 4).nodes:
        assert f"{node.id} " in answer.out
        assert f"stands for {node.stands_for} nodes like it" in answer.out


def test_labelled_nodes_are_not_suggested(agnn: Any, place: Path) -> None:
    record = json.loads(agnn(f"suggest {TABLES} --label topic --count 3 --json --out list.csv").out)
    assert record["labelled"] == 50
    ids = [each["id"] for each in record["suggestions"]]
    assert all(int(name[1:]) % 6 == 5 for name in ids)  # every sixth has no label
    with (place / "list.csv").open() as file:
        assert [row["id"] for row in csv.DictReader(file)] == ids


def test_a_run_is_asked_for_its_predictions_as_well(agnn: Any, place: Path) -> None:
    data = read_tables("nodes.csv", "edges.csv", text="motto", label="topic")
    run = evaluate("ridge", data, "stratified", [0])
    save_run(run, place / "run")
    record = json.loads(agnn("suggest run --count 2 --json").out)
    for each in record["suggestions"]:
        assert each["prediction"] == run.predict([each["id"]]).classes[0]
    assert "predicted" in agnn("suggest run --count 2").out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"suggest {TABLES} --count 0", "--count must be at least 1; got 0."),
        (f"suggest {TABLES} --count 61", "`count` (--count) is 61, but 'nodes' has 60 nodes"),
        ("suggest --nodes nodes.csv", "--nodes goes with --edges"),
        ("suggest cora", "every node of 'cora' has a label: there is nothing to suggest."),
        ("suggest .", "'.' is not a run folder"),
        (f"suggest . {TABLES}", "--nodes goes without a run, which has its own data."),
        (f"suggest {TABLES} --out list.txt", "'list.txt' must end in .csv to be written."),
    ],
)
def test_a_mistake_is_one_line(agnn: Any, place: Path, line: str, expected: str) -> None:
    answer = agnn(line)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {expected}")
    assert answer.err.count("\n") == 1
    assert sorted(path.name for path in place.iterdir()) == ["edges.csv", "nodes.csv"]
