"""`agnn compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agnn as package

QUICK = "compare cora --methods majority,label_propagation --replicas 2 --quiet"


def test_the_leaderboard_is_printed_and_written(agnn: Any, here: Path) -> None:
    answer = agnn(QUICK)
    assert (answer.code, answer.err) == (0, "")
    for word in ("LP", "Most frequent class", "balanced accuracy", "log loss", "to the best"):
        assert word in answer.out
    names = {path.name for path in (here / "comparison").iterdir()}
    assert {"runs.sqlite", "leaderboard.html", "leaderboard.json", "leaderboard.csv"} <= names


@pytest.mark.usefixtures("here")
def test_json_is_one_object(agnn: Any) -> None:
    answer = agnn(f"{QUICK} --json --metric auc --out x")
    values = json.loads(answer.out)
    assert [each["method"] for each in values["methods"]] == ["label_propagation", "majority"]
    assert values["metric"] == "auc"
    assert values["page"] == "x/leaderboard.html"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--methods gcnn", "unknown method 'gcnn'; did you mean 'gcn'?"),
        ("--metric acuracy", "unknown metric 'acuracy'; did you mean 'accuracy'?"),
        ("--time soon", "--time takes a duration such as 30s, 5m or 2h; got 'soon'."),
        ("--methods gat --time 0.001s", "the time limit is too short for a single method"),
        ("--split unifrom", "unknown split 'unifrom'; did you mean 'uniform'?"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    agnn: Any, here: Path, options: str, words: str
) -> None:
    answer = agnn(f"compare cora --quiet {options}")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {words}")
    assert answer.err.count("\n") == 1
    assert not list(here.iterdir())


@pytest.mark.usefixtures("here")
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(package.networks.GCN, "run", interrupted)
    answer = agnn("compare cora --methods majority,gcn --replicas 2 --quiet")
    assert answer.code == 130
    assert "2 runs are finished and kept in 'comparison/runs.sqlite'" in answer.err
    assert "the same command continues" in answer.err
    monkeypatch.undo()


def test_progress_says_what_is_running_and_how_much_time_is_left(agnn: Any, here: Path) -> None:
    answer = agnn(f"{QUICK.removesuffix(' --quiet')} --time 2m --out {here / 'c'}")
    lines = answer.err.splitlines()
    assert any("LP on cora, fixed" in line and "left" in line for line in lines)
