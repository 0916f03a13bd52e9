"""Reports of a compared table: pure functions of the table and the runs, in three forms."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser

import pytest

from agnn.metrics import Summary
from agnn.report import comparison_table
from agnn.report._comparisons import (
    DrawingSection,
    TableSection,
    comparison_markdown,
    comparison_page,
    comparison_values,
    drawing_markdown,
    markdown_page,
    our_words,
    verdict_words,
)
from agnn.report._rendering import (
    PageFigure,
    drawn_figures,
    write_figures,
    write_report,
    write_whole,
)
from agnn.studies import ComparedCell, ComparedRow, Comparison, Drawing, PaperFigure, RelevancePanel
from agnn.studies._spec import Column, Row, Table
from agnn.studies._verdict import ComparedReference, Making
from agnn.tables import number, signed_number

PAPER = PaperFigure("83.1 ± 0.08", 83.1, 0.08)
OURS = Summary([83.0, 83.4])
NOTHING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
EVIL = '<script>alert("1")</script>'


@pytest.fixture
def comparison() -> Comparison:
    columns = (Column("Cora"), Column("a | b"))
    rows = (
        Row("AGNN", (PAPER, None), method="agnn", notes=("Departure: none.",)),
        Row(EVIL, (None, PAPER), method="nobody"),
    )
    reference = ComparedReference("Kipf", PaperFigure("81.5", 81.5), "above")
    empty = ComparedReference("Kipf", None, "not in the paper")
    first = ComparedCell(PAPER, OURS, "within 2 se", Summary([82.0]), (reference,))
    second = ComparedCell(None, Summary([70.0]), "not in the paper", None, (empty,))
    missing = (ComparedCell(None, None, "missing"), ComparedCell(PAPER, None, "missing"))
    table = Table(
        name="t",
        title="A table",
        rows=rows,
        columns=columns,
        place="Table 0",
        seeds=2,
        unit="%",
        notes=("A note.",),
    )
    compared = (
        ComparedRow(rows[0], (first, second)),
        ComparedRow(rows[1], missing, "not among the methods yet"),
    )
    return Comparison(table, compared, Making(3, 61.0, ("cpu, backend numba",), ("torch 2",)))


def test_a_cell_in_words():
    assert our_words(OURS, 2) == "83.20 ± 0.20 (2)"
    assert our_words(Summary([4.0]), 0) == "4"
    assert our_words(None, 2) == NOTHING
    cell = ComparedCell(PAPER, OURS, "within 2 se")
    assert verdict_words(cell, 2) == "+0.10 within 2 se (z +0.5)"
    single = ComparedCell(PaperFigure("83.1", 83.1), Summary([83.2]), "within tolerance")
    assert verdict_words(single, 2) == "+0.10 within tolerance"
    assert verdict_words(ComparedCell(None, OURS, "not in the paper"), 2) == "not in the paper"
    exact = ComparedCell(PaperFigure("16", 16.0), Summary([16.0]), "within 2 se")
    assert verdict_words(exact, None) == "same"


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (-0.126, 2, f"{MINUS}0.13"),
        (0.126, 2, "+0.13"),
        (-0.001, 2, "0.00"),
        (0.0005, None, "+0.0005"),
    ],
)
def test_differences_have_a_sign_unless_they_round_to_nothing(value, digits, words):
    assert signed_number(value, digits) == words
    assert number(abs(value), digits) == words.lstrip(f"{MINUS}+")


def test_a_row_has_a_line_for_each_thing_that_is_compared(comparison):
    table = comparison_table(comparison)
    lines = [table.texts(row) for row in table.rows]
    assert [line[:2] for line in lines[:5]] == [
        ["AGNN", "paper"],
        ["", "ours"],
        ["", "verdict"],
        ["", "nested"],
        ["", "Kipf"],
    ]
    assert lines[2][2:] == ["+0.10 within 2 se (z +0.5)", "not in the paper"]
    assert [cell.kind for cell in table.rows[2].cells[2:]] == [
        "verdict within-2-se",
        "verdict missing",
    ]
    assert lines[3][2:] == ["82.00", NOTHING]
    assert lines[4][2:] == ["81.5: above", NOTHING]
    assert [line[:2] for line in lines[5:]] == [[EVIL, "paper"], ["", "ours"]]
    assert lines[6][2:] == ["missing", "missing"]
    assert [row.is_continued for row in table.rows] == [False, *[True] * 4, False, True]


def test_markdown_has_every_cell_note_and_the_making(comparison):
    text = comparison_markdown(comparison, "agnn reproduce t")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 5 + 2
    # Every line of a Markdown table has as many cells, also with a bar in a title.
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}
    for words in (
        "## Table 0: A table", "    agnn reproduce t", "83.20 ± 0.20 (2)", "a \\| b",
        "- A note.", "- AGNN: Departure: none.",
        "not among the methods yet", "61 s in all",
        "cpu, backend numba", "torch 2", "1 within 2 se, 1 not in the paper, 2 missing",
    ):  # fmt: skip
        assert words in text


class Tags(HTMLParser):
    """Whether every tag that opens closes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_is_sound_html_and_escapes_what_it_prints(comparison):
    drawing = Drawing(
        name="f",
        title="A figure",
        kind="relevance",
        panels=(RelevancePanel("cora", "x", 1),),
        place="Figure 0",
    )
    figure = PageFigure("<svg/>", "caption <b>")
    sections = [
        DrawingSection(drawing, "agnn reproduce f", (figure,)),
        TableSection(comparison, "agnn reproduce t"),
    ]
    text = comparison_page("Title & more", sections)
    page = Tags(text)
    assert "script" not in page.seen
    assert EVIL in page.text
    assert text.index("Figure 0") < text.index("Table 0"), "in the order given"
    assert "http" not in text.replace("http-equiv", ""), "it needs no network"
    assert 'scope="rowgroup" rowspan="5"' in text
    assert '<span class="verdict within-2-se">+0.10 within 2 se (z +0.5)</span>' in text
    for words in (
        "83.20 ± 0.20 (2)",
        "+0.10 within 2 se (z +0.5)",
        "A note.",
        "AGNN: Departure: none.",
    ):
        assert words in page.text


def test_json_has_every_number_in_full(comparison):
    values = json.loads(json.dumps(comparison_values(comparison, "agnn reproduce t")))
    cell = values["rows"][0]["cells"][0]
    assert cell["paper"] == {
        "printed": "83.1 ± 0.08", "mean": 83.1, "standard_error": 0.08, "deviation": None,
    }  # fmt: skip
    assert cell["ours"]["values"] == [83.0, 83.4]
    assert cell["difference"] == pytest.approx(0.1)
    assert (cell["verdict"], cell["nested"]["mean"]) == ("within 2 se", 82.0)
    assert cell["z"] == pytest.approx(0.1 / math.hypot(0.2, 0.08))
    assert cell["references"][0]["source"] == "Kipf"
    assert values["rows"][1]["absence"] == "not among the methods yet"
    assert (values["runs"], values["seconds"], values["tolerance"]) == (3, 61.0, 0.4)


def test_a_page_of_markdown_states_the_rule():
    text = markdown_page("T", "", ["## One\n", "## Two\n"])
    assert text.startswith(
        "# T\n\nVerdicts: a figure is reproduced in one of two ways. Within 2 se: ours differs"
    )
    assert text.endswith("## One\n\n## Two\n")


def test_a_figure_that_is_not_drawn_says_so():
    drawing = Drawing(
        name="f",
        title="A figure",
        kind="relevance",
        panels=(),
        place="Figure 0",
        notes=("A note.",),
    )
    assert "Not drawn yet." in drawing_markdown(drawing, "agnn reproduce f", [])
    assert "![Figure 0: A figure](figures/f.png)" in drawing_markdown(
        drawing, "c", ["figures/f.png"]
    )


def test_figures_count_as_drawn_only_under_their_mark_and_with_all_files(tmp_path):
    from matplotlib.figure import Figure

    write_figures(tmp_path, "f", "mark", {"f-cora": Figure(figsize=(1, 1))})
    assert drawn_figures(tmp_path, "f", "mark") == drawn_figures(tmp_path, "f") == ["f-cora"]
    assert drawn_figures(tmp_path, "f", "another") == []
    (tmp_path / "figures" / "f-cora.png").unlink()
    assert drawn_figures(tmp_path, "f", "mark") == []
    assert drawn_figures(tmp_path, "g", "mark") == []


def test_a_report_is_three_files_and_replaces_an_earlier_one(tmp_path):
    for word in ("old", "new"):
        files = write_report(tmp_path / "out", "t", word, word, {"word": word})
    assert [file.name for file in files] == ["t.md", "t.html", "t.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "t.html",
        "t.json",
        "t.md",
    ]
    assert files[0].read_text(encoding="utf-8") == "new"


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(tmp_path, monkeypatch):
    write_whole(tmp_path / "page.md", "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "page.md", "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.md", "old")]
