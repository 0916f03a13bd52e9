"""`agnn explain`: words, tables, JSON and a page; one line for what cannot be explained."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agnn.data import NodeData
from agnn.explanation import explain
from agnn.methods import get_method
from agnn.runs import evaluate, load_run, save_run


def saved(toy: NodeData, folder: Path, method: str = "agnn") -> Path:
    fields = {} if method == "label_propagation" else {"epochs": 20}
    save_run(evaluate(get_method(method)(**fields), toy, "fixed", seeds=(0, 1)), folder)
    return folder


@pytest.fixture(scope="module")
def folder(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(toy, tmp_path_factory.mktemp("explain") / "run")


def test_it_prints_a_paragraph_and_tables(agnn, folder):
    answer = agnn("explain", folder, 60, "--limit", 3, "--full")
    assert answer.code == 0
    words = " ".join(answer.out.split())
    assert " for node 60 with confidence " in words
    for title in ("The node itself and the nodes with the largest weight",
                  "Training nodes that reach it", "Nodes that contribute most to",
                  "The features that contribute most to"):  # fmt: skip
        assert title in words
    assert answer.err == ""


def test_it_fits_one_screen_of_80_columns(agnn, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    answer = agnn("explain", folder, 60)
    lines = answer.out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    found = explain(load_run(folder), 60)
    for step in found.lead.steps:
        (row,) = [line for line in lines if line.strip().startswith(f"{step.name} ")]
        assert f"{step.value:+.2f}".replace("-", "\N{MINUS SIGN}").replace("+0.00", "0.00") in row
    assert f"{found.confidence:.1%}" in lines[0]
    assert "lead" in answer.out


def test_json_is_the_whole_explanation(agnn, folder):
    answer = agnn("explain", folder, 60, "--json", "--limit", 3, "--counterfactual")
    record = json.loads(answer.out)
    changed = record.pop("counterfactual")
    opened = load_run(folder)
    expected = explain(opened, 60, limit=3).to_dict()
    assert record == json.loads(json.dumps(expected))
    assert changed is None or set(changed["nodes"]) <= set(range(120))


def test_a_page_is_written_once_and_never_over_another(agnn, folder, here):
    answer = agnn("explain", folder, 60, "--html", "why.html")
    assert answer.code == 0
    assert "the page: why.html" in answer.out
    page = (here / "why.html").read_text(encoding="utf-8")
    assert "<title>Why 60 is " in page
    again = agnn("explain", folder, 61, "--html", "why.html")
    assert (again.code, again.out) == (2, "")
    assert again.err == "error: 'why.html' exists already; choose another --html.\n"
    assert (here / "why.html").read_text(encoding="utf-8") == page


@pytest.mark.usefixtures("here")
def test_a_page_in_a_folder_that_is_not_there_is_refused_before_the_work(agnn, folder):
    answer = agnn("explain", folder, 60, "--html", "nowhere/why.html")
    assert answer.code == 2
    assert "nowhere" in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.usefixtures("here")
def test_json_names_the_page(agnn, folder):
    record = json.loads(agnn("explain", folder, 60, "--json", "--html", "why.html").out)
    assert record["html"] == "why.html"
    assert "counterfactual" not in record


def test_a_wrong_id_is_one_line_with_near_ids(agnn, folder):
    answer = agnn("explain", folder, "6x")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: 'toy' has no node '6x'; near it: '6")
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("dcnn", "DCNN cannot be explained: its features are propagated before training"),
        ("label_propagation", "LP has no trained network"),
    ],
)
def test_a_run_that_cannot_be_explained_is_one_line(agnn, toy, here, method, words):
    answer = agnn("explain", saved(toy, here / "run", method), 60)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert len(answer.err.splitlines()) == 1


def test_what_is_no_run_is_one_line(agnn, here):
    answer = agnn("explain", here / "nothing", 60)
    assert answer.code == 2
    assert "is not a run folder" in answer.err


def test_a_limit_of_nothing_is_refused(agnn, folder):
    answer = agnn("explain", folder, 60, "--limit", 0)
    assert answer.code == 2
    assert "`limit` must be at least 1; got 0." in answer.err


def test_the_fewest_neighbours_that_change_it_are_told_or_that_there_are_none(agnn, folder):
    answers = {agnn("explain", folder, node, "--counterfactual").out for node in (0, 60, 70, 80)}
    assert all(
        re.search("prediction would be|No set of neighbours", " ".join(out.split()))
        for out in answers
    )
    assert any("No set of neighbours was found" in out for out in answers)


def test_an_id_cannot_steer_the_terminal(agnn, toy, here):
    data = NodeData.build(
        name="toy", features=toy.features, labels=toy.labels, edges=toy.edges,
        class_names=toy.class_names, splits=toy.splits,
        node_ids=[f"\x1b[2J[bold]{k}" for k in range(toy.nodes)],
    )  # fmt: skip
    answer = agnn("explain", saved(data, here / "run"), "\x1b[2J[bold]60")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert "[bold]60" in answer.out
