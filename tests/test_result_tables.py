"""A table of results is one object: every form of it has the same cells."""

from __future__ import annotations

import csv
import io
import math
from html.parser import HTMLParser

import pytest
from rich.console import Console

from agnn.cli._console import rich_table
from agnn.metrics import Summary
from agnn.tables import (
    NOTHING,
    Cell,
    Column,
    ResultTable,
    Row,
    enumeration,
    facts_table,
    mean_text,
    shown_text,
    signed_number,
)

TABLE = ResultTable(
    (
        Column("method", ("method",)),
        Column("accuracy", ("accuracy", "accuracy_error"), " %", 2, is_number=True),
        Column("loss", ("loss",), digits=3, is_number=True),
        Column("nodes", ("nodes",), is_number=True),
        Column("time", ("seconds",), is_wide=True),
        Column("remark", is_name=True),
    ),
    (
        Row(
            (
                Cell("AGNN | more", ("agnn",)),
                Summary([83.0, 83.4]),
                0.12345,
                1234,
                Cell("61 s", (61.0,)),
                "<b>bold</b>",
            ),
            group="ours",
            is_strong=True,
        ),
        Row((Cell("GCN", ("gcn",)), Summary([81.5]), math.nan, None, Cell("2 s", (2.0,)), "")),
    ),
    "Methods & more",
)
TEXTS = [
    ["AGNN | more", "83.20 ± 0.20", "0.123", "1,234", "61 s", "<b>bold</b>"],
    ["GCN", "81.50", NOTHING, NOTHING, "2 s", ""],
]


class CellReader(HTMLParser):
    """The text of every cell, row by row, and the tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.feed(str(html))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def test_a_cell_is_written_as_its_column_says():
    assert TABLE.titles == ["method", "accuracy %", "loss", "nodes", "time", "remark"]
    assert [TABLE.texts(row) for row in TABLE.rows] == TEXTS


def test_markdown_has_all_cells_and_escapes_bars():
    header, rule, first, second = TABLE.markdown().splitlines()
    assert header == "| method | accuracy % | loss | nodes | time | remark |"
    assert rule == "| --- | --- | --- | --- | --- | --- |"
    expected = r"| **AGNN \| more** | 83.20 ± 0.20 | 0.123 | 1,234 | 61 s | <b>bold</b> |"
    assert first == expected
    assert second == f"| GCN | 81.50 | {NOTHING} | {NOTHING} | 2 s |  |"


def test_html_has_all_cells_as_text():
    page = CellReader(TABLE.html("board"))
    header, group, *rows = page.rows
    assert header == TABLE.titles
    assert group == ["ours"]
    assert rows == TEXTS
    assert "b" not in page.tags, "markup in a cell is text"
    assert "Methods &amp; more" in TABLE.html()


def test_csv_and_records_have_the_values_by_key():
    first, second = TABLE.records()
    assert first == {
        "method": "agnn",
        "accuracy": pytest.approx(83.2),
        "accuracy_error": pytest.approx(0.2),
        "loss": 0.12345,
        "nodes": 1234,
        "seconds": 61.0,
    }
    assert second["accuracy_error"] is None
    read = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert list(read[0]) == list(first)
    assert float(read[0]["accuracy"]) == pytest.approx(83.2)
    assert [read[1][key] for key in ("accuracy_error", "loss", "nodes")] == ["", "", ""]


def test_a_terminal_has_all_columns_but_the_wide_ones():
    file = io.StringIO()
    Console(file=file, width=120).print(rich_table(TABLE))
    header, first, _ = file.getvalue().splitlines()
    assert header.split() == ["method", "accuracy", "%", "loss", "nodes", "remark"]
    assert "83.20 ± 0.20" in first
    assert "61 s" not in first


def test_the_first_cell_of_a_row_spans_its_further_lines():
    rows = (Row(("a", "1")), Row(("", "2"), is_continued=True), Row(("b", "3")))
    html = str(ResultTable((Column("name"), Column("value")), rows).html())
    assert html.count("<tbody>") == 2
    assert 'scope="rowgroup" rowspan="2"' in html
    assert CellReader(html).rows == [["name", "value"], ["a", "1"], ["2"], ["b", "3"]]


def test_facts_have_no_heading_and_leave_out_what_is_not_known():
    table = facts_table([("time", "61 s"), ("note", None), ("warning", Cell("x", kind="warning"))])
    assert [table.texts(row) for row in table.rows] == [["time", "61 s"], ["warning", "x"]]
    assert "<thead>" not in table.html()
    assert '<span class="warning">x</span>' in table.html()


def test_means_and_differences_in_text():
    assert mean_text(Summary([1.0, 3.0]), 1, " %") == "2.0 ± 1.0 %"
    assert mean_text(Summary([2.0]), None) == "2"
    assert mean_text(None, 1) == mean_text(Summary([math.nan]), 1) == NOTHING
    assert signed_number(math.nan) == NOTHING
    assert signed_number(-0.001) == "0.00"
    assert enumeration(["a"]) == "a"
    assert enumeration(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("paper 7", "paper 7"),
        (7, "7"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("a\x00b\x1b", "a\ufffdb\ufffd"),
        ("turned \u202e round", "turned \ufffd round"),
        ("half a \ud800 pair", "half a \ufffd pair"),
        ("עברית 日本語 <b>", "עברית 日本語 <b>"),
    ],
)
def test_what_cannot_be_seen_is_marked_and_all_else_stays(value, text):
    assert shown_text(value) == text


def test_a_long_text_keeps_both_ends():
    shown = shown_text("begin" + "x" * 500 + "end", 30)
    assert len(shown) == 30
    assert shown.startswith("begin")
    assert shown.endswith("end")
    assert "…" in shown
