"""A leaderboard as a page, a figure, Markdown and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import agnn
from agnn.data import NodeData
from agnn.metrics import MEASURES
from agnn.report import write_leaderboard
from agnn.report._leaderboard import leaderboard_figure, leaderboard_markdown
from agnn.studies import Leaderboard


@pytest.fixture(scope="module")
def board(toy: NodeData) -> Leaderboard:
    return agnn.compare(toy, ["majority", "ridge", "label_propagation"], replicas=2)


def test_the_folder_holds_page_figure_and_figures_in_every_form(board, tmp_path: Path):
    page = write_leaderboard(board, tmp_path, "agnn compare toy")
    html = page.read_text(encoding="utf-8")
    for entry in board.entries:
        assert entry.title in html
    for measure in MEASURES.values():
        assert measure.title in html
    assert "agnn compare toy" in html
    assert "<script" not in html
    assert "<svg" in html
    values = json.loads((tmp_path / "leaderboard.json").read_text(encoding="utf-8"))
    assert values["best"] == board.best.name
    text = (tmp_path / "leaderboard.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    for row, entry in zip(rows, board.entries, strict=True):
        assert row["method"] == entry.name
        for name, summary in entry.measures.items():
            assert float(row[name]) == pytest.approx(summary.mean)
            assert float(row[f"{name}_error"]) == pytest.approx(summary.standard_error)
        assert float(row["seconds"]) == pytest.approx(entry.seconds)
    assert rows[-1]["difference"] == f"{board.entries[-1].difference.mean:.10g}"
    assert (tmp_path / "figures" / "leaderboard.png").stat().st_size > 5000


def test_the_table_states_the_difference_and_marks_ties(board):
    table = board.table
    place = table.titles.index("to the best")
    differences = [table.texts(row)[place] for row in table.rows]
    assert differences[0] == "best"
    assert differences[-1].startswith("\N{MINUS SIGN}")
    for row, difference, entry in zip(table.rows, differences, board.entries, strict=True):
        assert row.is_strong == entry.is_tied
        assert difference.endswith(("tied", "best")) == entry.is_tied


def test_the_notes_say_what_is_tied_and_that_test_nodes_ordered(board):
    words = " ".join(board.notes)
    assert f"{board.best.title} has the best accuracy" in words
    assert "choose the method by validation nodes" in words


def test_the_figure_has_a_line_per_method_in_both_panels(board):
    left, right = leaderboard_figure(board).axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [entry.title for entry in board.entries]
    ends = [tuple(line.get_xdata()) for line in right.lines if len(line.get_xdata()) == 2]
    triangles = [line for line in right.lines if line.get_marker() in "<>"]
    gaps = [entry.difference for entry in board.entries[1:]]
    assert len(triangles) + sum(tuple(gap.interval) in ends for gap in gaps) == len(gaps)


def test_markdown_has_a_row_per_method(board):
    text = leaderboard_markdown(board)
    assert sum(entry.title in text for entry in board.entries) == len(board.entries)


def test_a_notebook_shows_the_table(board):
    html = board._repr_html_()
    assert html.count("<tr") == 1 + len(board.entries)
