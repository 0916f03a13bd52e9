"""`agnn partition` and what `agnn inspect` tells of its folder."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from own_tables import write_tables


def test_tables_are_divided_and_inspected(agnn: Any, here: Path) -> None:
    write_tables(here, people=120)
    line = "partition --nodes nodes.csv --edges edges.csv --label topic --parts 2 --out parts"
    answer = agnn(f"{line} --order streaming --memory 512MiB")
    assert answer.code == 0
    assert "reading the edges" in answer.err
    assert "2 parts in parts" in answer.out
    shown = agnn("inspect parts")
    assert (shown.code, shown.err) == (0, "")
    assert "of the edges join two parts" in shown.out
    values = json.loads(agnn("inspect parts --json").out)["parts"]
    assert (len(values["parts"]), values["order"]) == (2, "streaming")
    assert sum(part["rows"] for part in values["parts"]) == values["nodes"]
    by_column = agnn(f"{line}2 --order column:topic --quiet --json")
    assert (by_column.code, by_column.err) == (0, "")
    assert json.loads(by_column.out)["order"] == "column:topic"


def test_a_dataset_and_a_random_graph_are_divided(agnn: Any, here: Path) -> None:
    assert agnn("partition cora --parts 3 --out cora --quiet").code == 0
    answer = agnn("partition --synthetic 1000,5000 --parts 4 --out random --quiet --json")
    assert (answer.code, json.loads(answer.out)["nodes"]) == (0, 1000)
    assert sorted(path.name for path in here.iterdir()) == ["cora", "random"]


def test_queries_are_divided_as_the_tables_are(agnn: Any, here: Path) -> None:
    write_tables(here, people=120)
    with closing(sqlite3.connect(here / "all.sqlite")) as connection:
        for name in ("nodes", "edges"):
            pd.read_csv(f"{name}.csv").to_sql(name, connection, index=False)
    rest = "--label topic --parts 2 --json --quiet"
    tables = agnn(f"partition --nodes nodes.csv --edges edges.csv {rest} --out a")
    queries = ["--nodes", "SELECT * FROM nodes", "--edges", "SELECT * FROM edges"]
    found = agnn(f"partition --database all.sqlite {rest} --out b", *queries)
    assert (tables.code, found.code) == (0, 0), found.err
    one, two = (json.loads(each.out) for each in (tables, found))
    for key in ("nodes", "edges", "feature_count", "class_names", "bounds", "parts"):
        assert one[key] == two[key], key
    line = f"partition --database all.sqlite {rest} --order column:topic --out c"
    answer = agnn(line, *queries)
    assert (answer.code, "that are files" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("cora", "name a new folder for the parts with --out"),
        ("cora --out p --parts 0", "`parts` must be at least 1; got 0"),
        ("cora --out p --parts 9999", "2,708 nodes is divided into 1 to 64 parts"),
        (
            "cora --out p --order best",
            "unknown order 'best'; known: auto, given, streaming, metis",
        ),
        ("cora --out p --order column:x", "an order by a column goes with --nodes and --edges"),
        ("cora --out p --memory much", "--memory takes a size of at least 100MB, such as 4GB"),
        ("cora --out p --spill nowhere", "there is no folder 'nowhere' for temporary files"),
        ("--out p --synthetic 9", "--synthetic takes NODES,EDGES; got '9'"),
        ("cora --out p --synthetic 1000,9", "--synthetic makes its own graph"),
        ("--out p --nodes n.csv", "--nodes goes with --edges"),
        # Before the tables are read, which may take long: these are not even there.
        ("--out . --nodes n.csv --edges e.csv", "the output folder '.' exists already"),
        ("--out p --order best --nodes n.csv --edges e.csv", "unknown order 'best'"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    agnn: Any, here: Path, options: str, words: str
) -> None:
    answer = agnn(f"partition {options} --parts 2 --quiet" if "--parts" not in options
                  else f"partition {options} --quiet")  # fmt: skip
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert words in answer.err
    assert list(here.iterdir()) == []
