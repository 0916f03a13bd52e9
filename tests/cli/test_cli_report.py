"""`agnn report` writes one page, or one line and nothing else."""

from __future__ import annotations

import json

import pytest

from agnn.methods import get_method
from agnn.runs import evaluate, save_run
from own_tables import write_tables


@pytest.fixture
def run(toy, here):
    save_run(evaluate(get_method("agnn")(epochs=4, layers=2), toy, seeds=(0, 1)), here / "run")
    return here / "run"


@pytest.fixture
def quick(monkeypatch):
    """The page without its figures, where only files are looked at."""
    monkeypatch.setattr("agnn.report.run_figures", lambda _: {})
    monkeypatch.setattr("agnn.report.run_page", lambda *_, **__: "page")


@pytest.mark.usefixtures("run")
def test_a_page_is_written_beside_and_its_place_told(agnn, here):
    answer = agnn("report run")
    assert (answer.code, answer.err) == (0, "")
    assert "AGNN on toy" in answer.out
    assert "run-report.html" in answer.out
    page = (here / "run-report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert {path.name for path in here.iterdir()} == {"run", "run-report.html"}


@pytest.mark.usefixtures("quick")
def test_the_default_name_is_the_runs_also_from_inside_it(agnn, run, monkeypatch):
    monkeypatch.chdir(run)
    assert agnn("report .").code == 0
    assert (run / "run-report.html").exists()


@pytest.mark.usefixtures("run")
def test_json_prints_the_facts_and_writes_nothing(agnn, here):
    answer = agnn("report run --json")
    assert (answer.code, answer.err, answer.out.count("\n")) == (0, "", 1)
    found = json.loads(answer.out)
    assert found["confidence"]["test_nodes"] == 50
    assert found["training"]["epochs"] == 4
    assert len(found["attention"]["layers"]) == 2
    assert "out" not in found
    assert [path.name for path in here.iterdir()] == ["run"]


@pytest.mark.usefixtures("run", "quick")
def test_json_with_a_file_does_both(agnn, here):
    found = json.loads(agnn("report run --json --out page.html").out)
    assert found["out"] == "page.html"
    assert (here / "page.html").exists()


def test_a_report_on_somebodys_own_tables_tells_what_was_taken_as_what(agnn, here):
    write_tables(here)
    line = "train --nodes nodes.csv --edges edges.csv --label topic --text motto --replicas 2"
    assert agnn(f"{line} --epochs 4 --layers 1 --out own --quiet").code == 0
    assert agnn("report own --out own.html").code == 0
    page = (here / "own.html").read_text(encoding="utf-8")
    for words in ("nodes: label", "&#39;topic&#39;: 2 classes",
                  "self-loop", "Nodes without a label", "p59"):  # fmt: skip
        assert words in page
    found = json.loads(agnn("report own --json").out)
    assert found["unlabelled_nodes"]["nodes"] == 10
    assert found["data"]["report"]["reading"]["columns"]


def refused(answer) -> str:
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    return answer.err


@pytest.mark.usefixtures("run", "quick")
def test_a_file_that_exists_is_left_alone(agnn, here):
    (here / "mine.html").write_text("mine")
    assert "exists already; choose another path (--out)" in refused(
        agnn("report run --out mine.html")
    )
    assert (here / "mine.html").read_text() == "mine"
    assert agnn("report run").code == 0
    assert "exists already" in refused(agnn("report run"))


@pytest.mark.usefixtures("run")
def test_a_place_that_is_not_there_is_named(agnn, here):
    assert "there is no folder" in refused(agnn("report run --out nowhere/page.html"))
    assert [path.name for path in here.iterdir()] == ["run"]


@pytest.mark.parametrize("damage", ["no run", "damaged"])
def test_what_is_no_run_is_named(agnn, run, here, damage):
    if damage == "no run":
        (here / "empty").mkdir()
        assert "is not a run folder" in refused(agnn("report empty"))
        assert not (here / "empty-report.html").exists()
    else:
        (run / "history.safetensors").write_bytes(b"noise")
        assert "changed after it was written" in refused(agnn("report run"))


@pytest.mark.usefixtures("run")
def test_a_failure_while_drawing_leaves_no_file(agnn, here, monkeypatch):
    monkeypatch.setattr("agnn.report.run_figures", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        agnn("report run")
    assert [path.name for path in here.iterdir()] == ["run"]
