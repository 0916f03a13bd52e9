"""Compared tables as Markdown that also reads well as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.experiments import RULE
from agnn.report.comparison_words import (
    count_words,
    making_words,
    note_words,
    number,
    row_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.experiments import ComparedRow, Comparison, Drawing


def comparison_markdown(comparison: Comparison, command: str) -> str:
    """One section: the table, its verdicts, its notes, its making."""
    table = comparison.table
    unit = f", in {table.unit}" if table.unit else ""
    header = ["", f"figures{unit}", *(column.title for column in table.columns)]
    lines = [
        f"## {table.heading}",
        "",
        f"    {command}",
        "",
        _line(header),
        _line(["---"] * len(header)),
    ]
    for row in comparison.rows:
        lines += _row(row, table.digits)
    tolerance = number(table.tolerance, None)
    lines += ["", f"Verdicts (tolerance {tolerance}): {count_words(comparison)}.", ""]
    lines += [f"- {note}" for note in note_words(comparison)]
    lines += [f"- Made by: {words}." for words in making_words(comparison)]
    return "\n".join(lines) + "\n"


def drawing_markdown(drawing: Drawing, command: str, images: Sequence[str]) -> str:
    """One section: the figure's images by their addresses, and its notes."""
    lines = [f"## {drawing.heading}", "", f"    {command}", ""]
    lines += [f"![{drawing.heading}]({image})" for image in images]
    if not images:
        lines += ["Not drawn yet."]
    lines += ["", *(f"- {note}" for note in drawing.notes)]
    return "\n".join(lines) + "\n"


def markdown_page(title: str, opening: str, sections: Sequence[str]) -> str:
    """Sections under one title, with the rule of the verdicts."""
    parts = [f"# {title}", opening, f"Verdicts: {RULE}", *sections]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _row(compared: ComparedRow, digits: int | None) -> list[str]:
    lines = []
    for k, line in enumerate(row_lines(compared, digits)):
        title = f"**{compared.row.title}**" if k == 0 else ""
        lines.append(_line([title, line.what, *line.cells]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
