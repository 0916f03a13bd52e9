"""`agnn share` writes one file, or one line and nothing else."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from explore_runs import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("share") / "run", "agnn")


def kept(page: Path) -> Any:
    """The JSON part of the answers in a page."""
    found = re.search(r'id="answers-inside">([^<]*)<', page.read_text(encoding="utf-8"))
    assert found is not None
    bytes_ = gzip.decompress(base64.b64decode(found[1]))
    return json.loads(bytes_[4 : 4 + int.from_bytes(bytes_[:4], "little")])


def test_it_writes_one_file_of_a_cohort(agnn: Any, run: Path, here: Path) -> None:
    answer = agnn("share --cohort unsure --out page.html", run)
    assert (answer.code, answer.out[:16]) == (0, "AGNN on papers, ")
    about = kept(here / "page.html")["about"]
    assert about["shared"]["title"] == "Unsure"
    assert about["shared"]["count"] == len(kept(here / "page.html")["targets"]) > 3
    assert [each.name for each in here.iterdir()] == ["page.html"]
    page = (here / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:link|script|img)[^>]* (?:src|href)=\"(?!data:)", page)
    # The same run gives the same bytes.
    answer = agnn("share --cohort unsure --out again.html --json", run)
    assert json.loads(answer.out)["bytes"] == len((here / "again.html").read_bytes())
    assert (here / "again.html").read_text(encoding="utf-8") == page


def test_it_writes_one_file_of_some_nodes(agnn: Any, run: Path, here: Path) -> None:
    assert agnn("share --out page.html --nodes", "paper 7, paper 9", run).code == 0
    found = kept(here / "page.html")
    assert [each["index"] for each in found["targets"]] == [7, 9]
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
    found = kept(here / "page.html")
    targets = {each["index"] for each in found["targets"]}
    assert found["about"]["shared"]["count"] == len(targets) == 30
    listed = [each["nodes"] for each in found["cohorts"].values() if each["nodes"]]
    assert listed  # of every cohort that has nodes, some are in the file
    assert all(set(nodes) <= targets for nodes in listed)
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
    assert all(kept(here / "page.html")["sides"][0]["tried"])
    monkeypatch.setattr("agnn.web.explore._shared_answers._MOST_WEIGHTS", 1)
    agnn("share --out short.html --nodes", "paper 7, paper 9", run)
    assert kept(here / "short.html")["sides"][0]["tried"] == [[], []]


def test_an_existing_file_is_kept(agnn: Any, run: Path, here: Path) -> None:
    (here / "page.html").write_text("mine", encoding="utf-8")
    assert agnn("share --out page.html", run).code == 2
    assert (here / "page.html").read_text(encoding="utf-8") == "mine"
