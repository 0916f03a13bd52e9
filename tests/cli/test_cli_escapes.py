"""Control characters in data are shown by a terminal, not obeyed; data files keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agnn import NodeData, evaluate, get_method, save_run
from agnn.cli._console import escape

TITLE = "\x1b]0;pwn\x07c"
CLASSES = (TITLE, "\x1b[31mred", "plain\x9b2J")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, toy: NodeData) -> Path:
    """A run whose classes are commands to a terminal."""
    data = NodeData.build(
        name="toy\x1b[2J",
        features=toy.features,
        labels=toy.labels,
        edges=toy.edges,
        class_names=CLASSES,
        splits=toy.splits,
    )
    folder = tmp_path_factory.mktemp("escapes") / "run"
    save_run(evaluate(get_method("gcn")(epochs=3), data, "fixed", range(2)), folder)
    return folder


def controls(text: str) -> set[str]:
    return {letter for letter in text if letter < " " or "\x7f" <= letter <= "\x9f"} - {"\n"}


def test_only_line_ends_and_tabs_are_left_as_they_are() -> None:
    every = "".join(map(chr, range(0x100))) + "\ud800é字"
    assert controls(escape(every)) == {"\t"}
    assert escape("a\x1b[31m\x9b\x7f\r\ud800é字\n") == "a\\x1b[31m\\x9b\\x7f\\r\\ud800é字\n"


def test_names_in_data_do_not_reach_the_terminal_raw(agnn: Any, run: Path, tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    rows = "".join(f"{k},{CLASSES[k % 3]},{k}\n" for k in range(30))
    nodes.write_text(f"id,topic,age\n{rows}")
    edges.write_text("source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(29)))
    for answer in (
        agnn("explain", run, "0"),
        agnn("inspect --label topic --nodes", nodes, "--edges", edges),
    ):
        assert answer.code == 0, answer.err
        assert controls(answer.out + answer.err) == set()
    assert "\\x1b[31mred" in answer.out


def test_an_error_that_repeats_what_was_typed_is_escaped(agnn: Any, run: Path) -> None:
    answer = agnn("explain", run, "\x1b[31mnosuch")
    assert answer.code == 2
    assert controls(answer.err) == set()
    assert "\\x1b[31mnosuch" in answer.err


def test_a_table_of_predictions_has_the_names_of_the_data(
    agnn: Any, run: Path, tmp_path: Path
) -> None:
    answer = agnn("predict", run, "--out", tmp_path / "predictions.csv")
    assert answer.code == 0, answer.err
    assert any(name in (tmp_path / "predictions.csv").read_text() for name in CLASSES)


def test_a_page_about_a_prediction_has_class_names_with_control_characters(
    agnn: Any, run: Path, tmp_path: Path
) -> None:
    answer = agnn("explain", run, "0", "--html", tmp_path / "why.html")
    assert answer.code == 0, answer.err
    assert "\N{REPLACEMENT CHARACTER}[31mred" in (tmp_path / "why.html").read_text()
