"""`agnn train --search`: settings chosen on validation nodes, kept and gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from own_tables import write_tables

TABLES = "--nodes nodes.csv --edges edges.csv --label topic"
LINE = f"train {TABLES} --method gcn --epochs 2 --replicas 2"


@pytest.fixture(autouse=True)
def tables(here: Path) -> Path:
    write_tables(here)
    return here


def test_a_search_is_told_kept_and_gone_on_with(agnn: Any, here: Path) -> None:
    first = agnn(f"{LINE} --search 2 --search-file s.sqlite --hidden 5 --json")
    assert first.code == 0
    assert "by folds that test the replicas, so the accuracy is slightly optimistic" in first.err
    told = [line for line in first.err.splitlines() if line.startswith("searched")]
    assert [line.split(";")[0] for line in told] == [
        "searched 1 of 2 settings", "searched 2 of 2 settings"
    ]  # fmt: skip
    settings = json.loads(first.out)["hyper_parameters"]
    assert (settings["hidden"], settings["epochs"]) == (5, 2)
    again = agnn(f"{LINE} --search 2 --search-file s.sqlite --hidden 5 --json")
    assert "searched" not in again.err
    assert json.loads(again.out)["hyper_parameters"] == settings
    assert (here / "s.sqlite").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--search 0", "`trials` of a search must be at least 1; got 0"),
        ("--search 2 --search-file no/s.sqlite", "there is no folder 'no'"),
        ("--search 2 --search-file nodes.csv", "'nodes.csv' is not a search file"),
        ("--dropout 2", "`dropout` must be at least 0 and below 1; got 2.0."),
        ("--executor local:2", "(--executor) trains the candidates of a search"),
        ("--search 2 --executor ray", "unknown executor 'ray'; known: local, local:N"),
        ("--search 2 --tuned", "both choose settings; leave one out"),
    ],
)
def test_mistakes_are_one_line(agnn: Any, here: Path, options: str, words: str) -> None:
    before = {path: path.read_bytes() for path in here.iterdir()}
    assert agnn(f"{LINE} {options}").out == "", "the report would hide it"
    answer = agnn(f"{LINE} --json {options}")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert words in answer.err
    assert {path: path.read_bytes() for path in here.iterdir()} == before
