"""Compared tables and drawn figures as Markdown, as an HTML page and as JSON values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from agnn.experiments import RULE, Verdict, count_figures, duration
from agnn.report._environment import environment
from agnn.report._judgements import claim_lines, claim_summary, relation_lines
from agnn.report._rendering import PageFigure
from agnn.report._text import NOTHING, markdown_line, number, signed_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agnn.experiments import (
        ComparedCell,
        ComparedRow,
        Comparison,
        Drawing,
        JudgedClaim,
        JudgedPanel,
        PaperFigure,
    )
    from agnn.metrics import Summary


_SAME: Final = "same"


class TableSection(NamedTuple):
    """A compared table and the command that made it."""

    comparison: Comparison
    command: str


class DrawingSection(NamedTuple):
    """A drawn figure and the command that made it."""

    drawing: Drawing
    command: str
    figures: tuple[PageFigure, ...]
    judgements: tuple[str, ...] = ()  # of what the paper reads from it


def comparison_page(title: str, sections: Sequence[TableSection | DrawingSection]) -> str:
    """The page as HTML."""
    pages = environment()
    pages.globals.update(
        claim_summary=claim_summary,
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
        markdown_line(header),
        markdown_line(["---"] * len(header)),
    ]
    figures = count_figures([comparison]).figures
    nearest = [each.nearest.cell for each in figures if each.nearest != each.as_published]
    for row in comparison.rows:
        lines += _markdown_row(row, table.digits, nearest)
    for judged in comparison.claims:
        lines += ["", *claim_lines(judged, comparison)]
    tolerance = number(table.tolerance, None)
    lines += ["", f"Verdicts (tolerance {tolerance}): {count_words(comparison)}.", ""]
    lines += [f"- {note}" for note in note_words(comparison)]
    lines += [f"- Made by: {words}." for words in making_words(comparison)]
    return "\n".join(lines) + "\n"


def drawing_markdown(
    drawing: Drawing, command: str, images: Sequence[str], judged: Sequence[JudgedPanel] = ()
) -> str:
    """One section: the figure's images by their addresses, what was measured, and its notes."""
    lines = [f"## {drawing.heading}", "", f"    {command}", ""]
    lines += [f"![{drawing.heading}]({image})" for image in images]
    if not images:
        lines += ["Not drawn yet."]
    for panel in judged:
        lines += ["", *relation_lines(panel)]
    lines += ["", *(f"- {note}" for note in drawing.notes)]
    return "\n".join(lines) + "\n"


def markdown_page(title: str, opening: str, sections: Sequence[str]) -> str:
    """Sections under one title, with the rule of the verdicts."""
    parts = [f"# {title}", opening, f"Verdicts: {RULE}", *sections]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _markdown_row(
    compared: ComparedRow, digits: int | None, nearest: Sequence[ComparedCell]
) -> list[str]:
    lines = []
    for k, line in enumerate(row_lines(compared, digits, nearest)):
        title = f"**{compared.row.title}**" if k == 0 else ""
        lines.append(markdown_line([title, line.what, *line.cells]))
    return lines


def comparison_values(comparison: Comparison, command: str) -> dict[str, Any]:
    """A compared table with all it depends on."""
    table, making = comparison.table, comparison.making
    return {
        "name": table.name,
        "place": table.place,
        "title": table.title,
        "command": command,
        "tolerance": table.tolerance,
        "notes": list(table.notes),
        "columns": [column.title for column in table.columns],
        "rows": [_row_values(row) for row in comparison.rows],
        "runs": making.runs,
        "seconds": making.seconds,
        "devices": list(making.devices),
        "versions": list(making.versions),
        "claims": [_claim_values(judged) for judged in comparison.claims],
    }


def _claim_values(judged: JudgedClaim) -> dict[str, Any]:
    return {
        "claim": judged.claim.text,
        "margins": [
            {
                "column": margin.column,
                "paper": margin.paper,
                "ours": _summary_values(margin.ours),
                "verdict": judged.word(margin.ours),
                "nested": _summary_values(margin.beside),
                "nested_verdict": None if margin.beside is None else judged.word(margin.beside),
            }
            for margin in judged.margins
        ],
    }


def _row_values(compared: ComparedRow) -> dict[str, Any]:
    row = compared.row
    return {
        "title": row.title,
        "group": row.group,
        "method": row.method,
        "configuration": row.configuration,
        "hyper_parameters_changed": dict(row.fields),
        "absence": compared.absence,
        "notes": list(row.notes),
        "cells": [_cell_values(cell) for cell in compared.cells],
    }


def _cell_values(cell: ComparedCell) -> dict[str, Any]:
    return {
        "paper": _figure_values(cell.paper),
        "ours": _summary_values(cell.ours),
        "nested": _summary_values(cell.beside),
        "difference": cell.difference,
        "z": cell.z,
        "verdict": cell.verdict,
        "references": [
            {"source": each.source, "figure": _figure_values(each.figure), "verdict": each.verdict}
            for each in cell.references
        ],
    }


def _figure_values(figure: PaperFigure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {
        "printed": figure.printed,
        "mean": figure.mean,
        "standard_error": figure.error,
        "deviation": figure.deviation,
    }


def _summary_values(summary: Summary | None) -> dict[str, Any] | None:
    return None if summary is None else summary.to_dict()


class Line(NamedTuple):
    """One line of a row: what it holds, and a text and a kind for every column."""

    what: str
    cells: tuple[str, ...]
    kinds: tuple[str, ...]  # the verdicts in a line of verdicts, else empty texts


def row_lines(
    compared: ComparedRow, digits: int | None, nearest: Sequence[ComparedCell] = ()
) -> list[Line]:
    """The paper's line, ours, the verdicts; then the nested figures and other papers', if any.

    A row whose method is not there has only the paper's line and the word. The cells `nearest` are
    marked: they are nearer to the paper's figure than the row of the published settings.
    """
    cells = compared.cells
    plain = ("",) * len(cells)
    paper = Line("paper", tuple(paper_words(cell.paper) for cell in cells), plain)
    if compared.absence is not None:
        missing = tuple(cell.verdict for cell in cells)
        return [paper, Line("ours", missing, missing)]
    lines = [
        paper,
        Line("ours", tuple(our_words(cell.ours, digits) for cell in cells), plain),
        Line(
            "verdict",
            tuple(
                verdict_words(cell, digits) + (", nearest" if _is_among(cell, nearest) else "")
                for cell in cells
            ),
            tuple(cell.verdict for cell in cells),
        ),
    ]
    if any(cell.beside is not None for cell in cells):
        nested = tuple(our_words(cell.beside, digits) for cell in cells)
        lines.append(Line("nested", nested, plain))
    return lines + [_reference_line(compared, k) for k in range(len(cells[0].references))]


def _reference_line(compared: ComparedRow, k: int) -> Line:
    others = [cell.references[k] for cell in compared.cells]
    words = tuple(
        NOTHING if each.figure is None else f"{each.figure.printed}: {each.verdict}"
        for each in others
    )
    return Line(others[0].source, words, tuple(each.verdict for each in others))


def _is_among(cell: ComparedCell, cells: Sequence[ComparedCell]) -> bool:
    return any(cell is each for each in cells)  # equal cells may stand in two rows


def paper_words(figure: PaperFigure | None) -> str:
    """As printed; a dash for an empty cell."""
    return NOTHING if figure is None else figure.printed


def our_words(summary: Summary | None, digits: int | None) -> str:
    """Mean ± standard error (n); a single value alone; a dash for none."""
    if summary is None:
        return NOTHING
    mean = number(summary.mean, digits)
    if summary.standard_error is None:
        return mean
    return f"{mean} ± {number(summary.standard_error, digits)} ({summary.n})"


def verdict_words(cell: ComparedCell, digits: int | None) -> str:
    """The difference, the verdict and z, where there are any; "same" where it is exactly nil."""
    if cell.difference is None:
        return cell.verdict
    if cell.difference == 0.0:
        return _SAME
    words = f"{signed_number(cell.difference, digits)} {cell.verdict}"
    return words if cell.z is None else f"{words} (z {signed_number(cell.z, 1)})"


def verdict_list(cells: Iterable[ComparedCell]) -> str:
    """The counts of the verdicts in words, in the order of the rule."""
    counts = Counter(_SAME if cell.difference == 0.0 else cell.verdict for cell in cells)
    return ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in (_SAME, *get_args(Verdict)) if counts[verdict]
    )


def count_words(comparison: Comparison) -> str:
    """The counts of the verdicts of a table in words."""
    return verdict_list(cell for row in comparison.rows for cell in row.cells)


def note_words(comparison: Comparison) -> list[str]:
    """The notes of the table, then those of its rows, and which rows are missing and why."""
    words, missing = list(comparison.table.notes), dict[str, list[str]]()
    for compared in comparison.rows:
        words += [f"{compared.row.title}: {note}" for note in compared.row.notes]
        if compared.absence is not None:
            missing.setdefault(compared.absence, []).append(compared.row.title)
    return words + [f"Missing, {why}: {'; '.join(rows)}." for why, rows in missing.items()]


def making_words(comparison: Comparison) -> list[str]:
    """Where and with what the runs were made; nothing for a table without runs."""
    making = comparison.making
    if making.runs == 0:
        return []
    return [
        f"{making.runs} runs, {duration(making.seconds)} in all; {'; '.join(making.devices)}",
        *making.versions,
    ]
