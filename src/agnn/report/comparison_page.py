"""Compared tables and drawn figures as one HTML page that needs no other file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agnn.experiments import RULE
from agnn.report.comparison_words import count_words, making_words, note_words, number, row_lines
from agnn.report.page_environment import environment
from agnn.report.page_figure import PageFigure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.experiments import Comparison, Drawing


class TableSection(NamedTuple):
    """A compared table and the command that made it."""

    comparison: Comparison
    command: str


class DrawingSection(NamedTuple):
    """A drawn figure and the command that made it."""

    drawing: Drawing
    command: str
    figures: tuple[PageFigure, ...]


def comparison_page(title: str, sections: Sequence[TableSection | DrawingSection]) -> str:
    """The page as HTML."""
    pages = environment()
    pages.globals.update(
        row_lines=row_lines,
        count_words=count_words,
        making_words=making_words,
        note_words=note_words,
        number=number,
    )
    return pages.get_template("comparison.html").render(
        title=title,
        rule=RULE,
        sections=sections,
    )
