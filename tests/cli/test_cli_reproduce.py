"""`agnn reproduce`: what it prints, writes and keeps, and what it refuses."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TABLE = """
title = "Tiny <b>"
place = "Table 0"
unit = "%"
seeds = 3
notes = ["One | note."]

[[columns]]
title = "Cora"
dataset = "cora"
[[columns]]
title = "CiteSeer"
dataset = "citeseer"

[[rows]]
title = "AGNN"
method = "agnn"
paper = ["83.1 ± 0.08", ""]
fields = { epochs = 3 }
[[rows]]
title = "GCN"
method = "gcn"
paper = ["81.5", "70.3"]
fields = { epochs = 3 }
[[rows]]
title = "Not yet"
method = "not_yet"
paper = ["", "70.0"]
"""


@pytest.fixture
def tiny(here: Path) -> Path:
    (here / "tiny.toml").write_text(TABLE, encoding="utf-8")
    return here


def stored(folder: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "reproduction" / "runs.sqlite")
    rows = connection.execute(
        "SELECT method, dataset, seed, accuracy FROM runs ORDER BY method, dataset, seed"
    ).fetchall()
    connection.close()
    return rows


def test_a_table_from_end_to_end(agnn: Any, tiny: Path) -> None:
    answer = agnn("reproduce tiny.toml --quiet")
    assert (answer.code, answer.err) == (0, "")
    assert len(stored(tiny)) == 2 * 2 * 3
    for words in (
        "Table 0: Tiny <b>",
        "83.1 ± 0.08",
        "(3)",
        "below",
        "not in the paper",
        "missing",
    ):
        assert words in answer.out
    found = json.loads((tiny / "reproduction" / "tiny.json").read_text(encoding="utf-8"))
    cells = {row["title"]: row["cells"] for row in found["rows"]}
    values = [accuracy for m, d, _, accuracy in stored(tiny) if (m, d) == ("gcn", "cora")]
    assert cells["GCN"][0]["ours"]["values"] == values
    assert cells["GCN"][0]["difference"] == pytest.approx(sum(values) / 3 - 81.5)
    assert [cell["verdict"] for cell in cells["Not yet"]] == ["missing", "missing"]
    assert found["command"] == "agnn reproduce tiny.toml"
    page = (tiny / "reproduction" / "tiny.html").read_text(encoding="utf-8")
    assert "Tiny &lt;b&gt;" in page
    assert "<b>" not in page
    assert "Not yet" in (tiny / "reproduction" / "tiny.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("tiny")
def test_a_second_call_runs_nothing_and_says_the_same(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = agnn("reproduce tiny.toml --quiet")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("ran a finished run again")

    monkeypatch.setattr("agnn.studies._batches.evaluate", never)
    assert agnn("reproduce tiny.toml --quiet") == first


def test_methods_datasets_and_seeds_narrow_a_run(agnn: Any, tiny: Path) -> None:
    answer = agnn(
        "reproduce tiny.toml --quiet --json --methods gcn,not_yet --datasets Cora --seeds 2"
    )
    (found,) = json.loads(answer.out)["experiments"]
    assert [row["title"] for row in found["rows"]] == ["GCN", "Not yet"]
    assert found["columns"] == ["Cora"]
    assert found["rows"][0]["cells"][0]["ours"]["n"] == 2
    assert found["command"].endswith("--methods gcn,not_yet --datasets cora --seeds 2")
    assert [row[:3] for row in stored(tiny)] == [("gcn", "cora", 0), ("gcn", "cora", 1)]


@pytest.mark.usefixtures("tiny")
def test_progress_is_plain_lines_where_there_is_no_terminal(agnn: Any) -> None:
    answer = agnn("reproduce tiny.toml --methods gcn --datasets cora --json")
    lines = answer.err.splitlines()
    assert lines[0].startswith("tiny: GCN on cora, fixed: 0 of 3 runs")
    assert lines[-1] == "tiny: GCN on cora, fixed: 3 of 3 runs, about 0.0 s left"
    assert answer.out.count("\n") == 1


def test_the_list_is_in_the_papers_order(agnn: Any) -> None:
    words = agnn("reproduce --list").out.split()
    places = [words.index(name) for name in ("table1", "table2", "table6", "figure2", "beyond")]
    assert places == sorted(places)
    found = json.loads(agnn("reproduce --list --json").out)["experiments"]
    assert found[1] == {"name": "table2", "place": "Table 2", "title": "Fixed splits"}


def test_facts_need_no_run(agnn: Any, here: Path) -> None:
    answer = agnn("reproduce table1 hyperparameters --quiet")
    assert answer.code == 0
    assert "44338" in answer.out
    assert stored(here) == []
    assert (here / "reproduction" / "all.html").is_file()


def test_runs_travel_as_text_and_a_page_comes_from_them_alone(agnn: Any, tiny: Path) -> None:
    agnn("reproduce tiny.toml --quiet --methods gcn --seeds 2 --export rows")
    line = "reproduce tiny.toml --methods gcn --seeds 2 --page docs/page.md --rows rows"
    (tiny / "reproduction" / "runs.sqlite").unlink()
    assert agnn(line).code == 0
    page = (tiny / "docs" / "page.md").read_text(encoding="utf-8")
    assert "## Table 0: Tiny <b>" in page
    assert "(2)" in page
    assert "One \\| note." in page or "One | note." in page
    agnn(line)
    assert (tiny / "docs" / "page.md").read_text(encoding="utf-8") == page
    assert not (tiny / "reproduction" / "runs.sqlite").exists()
    answer = agnn("reproduce tiny.toml --quiet --methods gcn --seeds 2 --rows rows --json")
    assert json.loads(answer.out)["experiments"][0]["runs"] == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "name an experiment, such as table2, or all; --list shows them."),
        ("tabel2", "unknown experiment 'tabel2'; did you mean 'table2'?"),
        ("table2 --methods agn", "unknown method 'agn'; did you mean 'agnn'?"),
        ("table2 --datasets coora", "unknown dataset 'coora'; did you mean 'cora'?"),
        ("table2 --seeds 0", "`seeds` must be at least 1; got 0."),
        ("table4 --datasets pubmed", "no cell is left with the chosen methods and datasets."),
        ("none.toml", "cannot read 'none.toml'"),
        ("table2 --page x.md", "there is no store 'reproduction/runs.sqlite'"),
        ("table2 --page x.md --rows none", "'none' is not a folder of exported runs."),
        ("table2 --threads 0", "`threads` must be from 1 to 1024; got 0."),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    agnn: Any, here: Path, options: str, said: str
) -> None:
    answer = agnn(f"reproduce {options}")
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    assert list(here.iterdir()) == []


def test_a_foreign_store_is_refused_and_left(agnn: Any, tiny: Path) -> None:
    (tiny / "notes.txt").write_text("precious " * 1000, encoding="utf-8")
    answer = agnn("reproduce tiny.toml --quiet --store notes.txt")
    assert answer.code == 2
    assert "'notes.txt' is not a store of agnn" in answer.err
    assert (tiny / "notes.txt").read_text(encoding="utf-8") == "precious " * 1000


def test_a_method_that_fails_is_said_and_the_rest_is_reported(agnn: Any, tiny: Path) -> None:
    text = TABLE.replace('method = "gcn"', 'method = "gcn"\nsplit = "99999-fold"')
    (tiny / "tiny.toml").write_text(text, encoding="utf-8")
    answer = agnn("reproduce tiny.toml --quiet --datasets cora")
    assert answer.code == 2
    assert "error: tiny: GCN on cora, 99999-fold: `folds` must be at least 2" in answer.err
    assert "(3)" in answer.out


HOLDER = """
import sys
from pathlib import Path
from agnn.studies import _claims
from agnn.studies._store import Store
from agnn.studies._works import Key

store = Store.open(Path(sys.argv[1]))
spec, data = store.connection.execute(
    "SELECT spec, data FROM runs WHERE method = 'gcn' AND dataset = 'cora'"
).fetchone()
_claims.BEAT = 0.2
with _claims.hold_claims(store):
    print(_claims.claim(store, Key(spec, data), [3]), flush=True)
    sys.stdin.read()
"""


def test_runs_that_another_process_still_makes_are_named_and_the_exit_code_is_1(
    agnn: Any, tiny: Path
) -> None:
    assert agnn("reproduce tiny.toml --methods gcn --datasets cora --quiet").code == 0
    store = tiny / "reproduction" / "runs.sqlite"
    with subprocess.Popen(  # noqa: S603 (this very interpreter)
        [sys.executable, "-c", HOLDER, str(store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "(3,)\n"
        command = "reproduce tiny.toml --methods gcn --datasets cora --seeds 4 --quiet"
        answer = agnn(command)
        assert answer.code == 1
        assert "unfinished: another process is working on 1 of the runs" in answer.err
        other.communicate("")
    answer = agnn(command)
    assert (answer.code, answer.err) == (0, "")
    assert [row[2] for row in stored(tiny)] == [0, 1, 2, 3]
