"""`agnn share` writes one file, or one line and nothing else."""

from __future__ import annotations

import base64
import gzip
import json
import re
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from agnn.cli import _sharing
from agnn.runs import load_run
from agnn.web.explore import Explorer
from explore_runs import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("share") / "run", "agnn")


def answers(page: Path) -> dict[str, Any]:
    """The answers in a page by question."""
    coded = re.search(r'id="answers-inside">([^<]*)<', page.read_text(encoding="utf-8"))
    assert coded is not None
    questions, *lines = gzip.decompress(base64.b64decode(coded[1])).decode().split("\n")
    return {
        question: answer
        for batch, line in zip(json.loads(questions), lines, strict=True)
        for question, answer in zip(batch, plain_value(json.loads(line)), strict=True)
    }


def plain_value(value: Any) -> Any:
    """A JSON value with its columns as lists again."""
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "lengths" in value:
        items = iter(plain_value(value["joined"]))
        return [list(islice(items, length)) for length in value["lengths"]]
    if "columns" not in value:
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value["columns"], list):
        return [list(row) for row in zip(*map(plain_value, value["columns"]), strict=True)]
    columns = plain_value(value["columns"])
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def targets(found: dict[str, Any]) -> list[int]:
    return [node["index"] for node in found["nodes"]]


def test_it_writes_one_file_of_a_cohort(agnn: Any, run: Path, here: Path) -> None:
    answer = agnn("share --cohort unsure --out page.html", run)
    assert (answer.code, answer.out[:16]) == (0, "AGNN on papers, ")
    found = answers(here / "page.html")
    shared = found["about"]["shared"]
    assert shared["title"] == "Unsure"
    assert shared["count"] == len(targets(found)) > 3
    assert [each.name for each in here.iterdir()] == ["page.html"]
    page = (here / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:link|script|img)[^>]* (?:src|href)=\"(?!data:)", page)
    # The same run gives the same bytes.
    answer = agnn("share --cohort unsure --out again.html --json", run)
    assert json.loads(answer.out)["bytes"] == len((here / "again.html").read_bytes())
    assert (here / "again.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(("option", "count"), [("", 1), ("--threads 2", 2)])
def test_it_computes_with_one_thread_unless_told(
    agnn: Any, run: Path, here: Path, monkeypatch: pytest.MonkeyPatch, option: str, count: int
) -> None:
    taken: list[int] = []
    monkeypatch.setattr(_sharing, "use_threads", taken.append)
    command = f"share {option} --out page.html --nodes"
    assert agnn(command, "paper 7", run).code == 0
    assert (taken, (here / "page.html").exists()) == ([count], True)


def test_it_writes_one_file_of_some_nodes(agnn: Any, run: Path, here: Path) -> None:
    assert agnn("share --out page.html --nodes", "paper 7, paper 9", run).code == 0
    found = answers(here / "page.html")
    assert targets(found) == [7, 9]
    assert found["about"]["start"] == "paper 7"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cohort", "wrog"], "there is no cohort 'wrog'; there are wrong, "),
        (["--nodes", "paper 7", "--cohort", "wrong"], "give `cohort` or `nodes`, not both."),
        (["--nodes", ","], "`nodes` must be from 1 to 5,000 ids; got 0."),
        (["--nodes", "paper 9999"], "paper 9999"),
    ],
)
def test_mistakes_are_one_line_and_no_file(
    agnn: Any, run: Path, here: Path, words: list[str], message: str
) -> None:
    answer = agnn("share --out page.html", *words, run)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert list(here.iterdir()) == []


def test_of_a_large_graph_it_takes_a_part_and_says_so(
    agnn: Any, run: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.web.explore._shared_page._MOST_EDGES", 10)
    monkeypatch.setattr("agnn.web.explore._shared_page._PART", 30)
    answer = agnn("share --out page.html", run)
    assert "It has 30 of 200 nodes: the first of every cohort and a sample." in answer.out
    found = answers(here / "page.html")
    inside = set(targets(found))
    assert found["about"]["shared"]["count"] == len(inside) == 30
    listed = [found[key]["nodes"] for key in found if key.startswith("cohort ")]
    assert any(listed)  # of every cohort that has nodes, some are in the file
    assert all(set(nodes) <= inside for nodes in listed)
    everything = json.loads(agnn("share --out all.html --json --nodes all", run).out)
    assert everything["nodes"] == 200


def test_every_node_of_too_large_a_graph_is_refused(
    agnn: Any, run: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.web.explore._shared_page._MOST", 100)
    answer = agnn("share --out page.html --nodes all", run)
    assert "the graph has 200 nodes, and a file holds 100 at most: choose a cohort" in answer.err
    assert list(here.iterdir()) == []


def test_removals_that_would_take_long_are_left_out(
    agnn: Any, run: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agnn("share --out page.html --nodes", "paper 7, paper 9", run)
    tried = [answers(here / "page.html")[f"removals paper {node}"] for node in (7, 9)]
    assert all(removals["edges"] for removals in tried)
    assert all([None] not in removals["effects"] for removals in tried)
    monkeypatch.setattr("agnn.web.explore._shared_answers._MOST_WEIGHTS", 1)
    agnn("share --out short.html --nodes", "paper 7, paper 9", run)
    left_out = answers(here / "short.html")["removals paper 7"]
    assert left_out["edges"] == tried[0]["edges"]
    assert left_out["effects"] == left_out["after"] == [[None]] * len(left_out["edges"])


def test_its_answers_are_those_of_the_explorer(agnn: Any, run: Path, here: Path) -> None:
    agnn("share --out page.html --nodes", "paper 7, paper 9", run)
    found = answers(here / "page.html")
    explorer = Explorer([load_run(run)])
    around = explorer.around(7, hops=2, limit=60, replica=None)
    assert found["around paper 7"] == json.loads(json.dumps(around))
    assert found["map"] == explorer.map
    assert found["cell 0-1-1-1"] == explorer.cell_edges(0, 1, 1, 1, 50)
    removals = found["removals paper 7"]
    for edge, effects in zip(removals["edges"], removals["effects"], strict=True):
        first, second = map(int, edge.split("-"))
        expected = explorer.removals(7, [(first, second)], None)["effects"]
        assert effects == pytest.approx(expected[0], abs=1e-5)


def test_an_existing_file_is_kept(agnn: Any, run: Path, here: Path) -> None:
    (here / "page.html").write_text("mine", encoding="utf-8")
    assert agnn("share --out page.html", run).code == 2
    assert (here / "page.html").read_text(encoding="utf-8") == "mine"
