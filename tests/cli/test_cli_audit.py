"""`agnn audit`: the list of suspicious labels as text, CSV, JSON and a page."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agnn.data import NodeData
from agnn.decisions import audit
from agnn.runs import evaluate, load_run, save_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, toy: NodeData) -> Path:
    folder = tmp_path_factory.mktemp("audit") / "run"
    save_run(evaluate("ridge", toy, "5-fold-cross-fit", [0]), folder)
    return folder


@pytest.fixture
def place(here: Path, trained: Path) -> Path:
    shutil.copytree(trained, here / "run")
    return here


def test_the_terminal_shows_the_first_and_says_how_many_are_left(agnn: Any, place: Path) -> None:
    found = audit(load_run(place / "run"))
    answer = agnn("audit run --count 3")
    assert (answer.code, answer.err) == (0, "")
    words = " ".join(answer.out.split())
    assert f"They contradict {found.contradicted}" in words
    assert f"about {found.likely_wrong} " in words
    shown = [line.split()[0] for line in answer.out.splitlines() if line[:1].isdigit()][1:]
    assert shown == [str(label.id) for label in found.suspicious[:3]]
    whole = agnn("audit run").out
    assert f"... and {found.contradicted - 20} more; --out FILE.csv" in whole


def test_all_forms_hold_the_same_labels(agnn: Any, place: Path) -> None:
    found = audit(load_run(place / "run"))
    answer = agnn("audit run --out list.csv --html list.html --json")
    record = json.loads(answer.out)
    assert record["contradicted"] == len(record["suspicious"]) == found.contradicted
    assert (record["out"], record["html"]) == ("list.csv", "list.html")
    with (place / "list.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(label["id"]) for label in record["suspicious"]]
    assert [row["reason"] for row in rows] == [label["reason"] for label in record["suspicious"]]
    page = (place / "list.html").read_text()
    assert page.count("Features: ") == found.contradicted


def test_a_corrected_list_is_a_table_of_labels_to_retrain_with(agnn: Any, place: Path) -> None:
    agnn("audit run --out list.csv --count 2")
    with (place / "list.csv").open() as file:
        rows = list(csv.DictReader(file))
    lines = [f"{row['id']},{row['prediction']}" for row in rows]
    (place / "corrected.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    assert agnn("retrain run --labels corrected.csv --out again --quiet").code == 0
    data = load_run(place / "again").data
    for row in rows:
        node = data.index_of(row["id"])
        assert node is not None
        assert data.class_names[data.labels[node]] == row["prediction"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("audit run --count 0", "--count must be at least 1; got 0."),
        ("audit run --out list.txt", "'list.txt' must end in .csv to be written."),
        ("audit nowhere", "'nowhere' is not a run folder: there is no such folder."),
        ("audit run --html run", "the output file 'run' exists already"),
    ],
)
def test_a_mistake_is_one_line(agnn: Any, place: Path, line: str, expected: str) -> None:
    answer = agnn(line)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {expected}")
    assert answer.err.count("\n") == 1
    assert [path.name for path in place.iterdir()] == ["run"]
