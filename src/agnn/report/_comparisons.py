"""Compared tables and drawn figures as Markdown, as an HTML page and as JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, get_args

from agnn.files import plain
from agnn.metrics import Summary
from agnn.report._judgements import claim_lines, claim_summary, relation_lines
from agnn.report._rendering import PageFigure, page_template
from agnn.studies import (
    ComparedCell,
    ComparedRow,
    Comparison,
    Counts,
    Drawing,
    JudgedClaim,
    JudgedPanel,
    PaperFigure,
    Verdict,
)
from agnn.tables import (
    NOTHING,
    Cell,
    Column,
    ResultTable,
    Row,
    duration,
    mean_text,
    number,
    signed_number,
)

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
    """Return the page as HTML."""
    return page_template("comparison.html").render(
        title=title,
        rule=Comparison.RULE,
        sections=sections,
        comparison_table=comparison_table,
        claim_summary=claim_summary,
        verdict_counts=verdict_counts,
        making_notes=making_notes,
        comparison_notes=comparison_notes,
    )


def comparison_markdown(comparison: Comparison, command: str) -> str:
    """Return one section: the table, its verdicts, its notes, its making."""
    figures = Counts.of([comparison]).figures
    nearest = [figure.nearest.cell for figure in figures if figure.nearest != figure.as_published]
    table = comparison.table
    lines = [f"## {table.heading}", "", f"    {command}", ""]
    lines.append(comparison_table(comparison, nearest).markdown())
    for judged in comparison.claims:
        lines += ["", *claim_lines(judged, comparison)]
    tolerance = number(table.tolerance, None)
    counts = verdict_counts(cell for row in comparison.rows for cell in row.cells)
    lines += ["", f"Verdicts (tolerance {tolerance}): {counts}.", ""]
    lines += [f"- {note}" for note in comparison_notes(comparison)]
    lines += [f"- Made by: {note}." for note in making_notes(comparison)]
    return "\n".join(lines) + "\n"


def drawing_markdown(
    drawing: Drawing, command: str, images: Sequence[str], judged: Sequence[JudgedPanel] = ()
) -> str:
    """Return one section: the figure's images by address, what was measured, and its notes."""
    lines = [f"## {drawing.heading}", "", f"    {command}", ""]
    lines += [f"![{drawing.heading}]({image})" for image in images]
    if not images:
        lines += ["Not drawn yet."]
    for panel in judged:
        lines += ["", *relation_lines(panel)]
    lines += ["", *(f"- {note}" for note in drawing.notes)]
    return "\n".join(lines) + "\n"


def markdown_page(title: str, opening: str, sections: Sequence[str]) -> str:
    """Return sections under one title, with the rule of the verdicts."""
    parts = [f"# {title}", opening, f"Verdicts: {Comparison.RULE}", *sections]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def comparison_values(comparison: Comparison, command: str) -> dict[str, Any]:
    """Return a compared table with all it depends on."""
    table = comparison.table
    values = {
        "name": table.name,
        "place": table.place,
        "title": table.title,
        "command": command,
        "tolerance": table.tolerance,
        "notes": table.notes,
        "columns": [column.title for column in table.columns],
        "rows": [_row_values(row) for row in comparison.rows],
        **vars(comparison.making),
        "claims": [_claim_values(judged) for judged in comparison.claims],
    }
    return dict(plain(values))


def _claim_values(judged: JudgedClaim) -> dict[str, Any]:
    margins = []
    for margin in judged.margins:
        nested = None if margin.nested is None else judged.word(margin.nested)
        verdicts = {"verdict": judged.word(margin.ours), "nested_verdict": nested}
        margins.append(vars(margin) | verdicts)
    return {"claim": judged.claim.text, "margins": margins}


def _row_values(compared: ComparedRow) -> dict[str, Any]:
    row = compared.row
    return {
        "title": row.title,
        "group": row.group,
        "method": row.method,
        "configuration": row.configuration,
        "hyper_parameters_changed": row.fields,
        "absence": compared.absence,
        "notes": row.notes,
        "cells": [
            vars(cell) | {"difference": cell.difference, "z": cell.z} for cell in compared.cells
        ],
    }


def comparison_table(comparison: Comparison, nearest: Sequence[ComparedCell] = ()) -> ResultTable:
    """Return lines for the paper's figures, ours and the verdicts in every row.

    Nested figures and those of other papers follow, if there are any. A row whose method is missing
    has only the paper's line and the word. The cells `nearest` are marked: they are nearer to the
    paper's figure than the row of the published settings.
    """
    table = comparison.table
    unit = f", in {table.unit}" if table.unit else ""
    titles = (Column(column.title) for column in table.columns)
    rows = []
    for compared in comparison.rows:
        for k, (line, cells) in enumerate(_lines(compared, table.digits, nearest)):
            row_title = compared.row.title if k == 0 else ""
            rows.append(
                Row(
                    (row_title, line, *cells),
                    group=compared.row.group,
                    is_strong=k == 0,
                    is_continued=k > 0,
                )
            )
    return ResultTable((Column(""), Column(f"figures{unit}", is_faint=True), *titles), tuple(rows))


def _lines(
    compared: ComparedRow, digits: int | None, nearest: Sequence[ComparedCell]
) -> Iterator[tuple[str, list[Cell]]]:
    """Yield what each line of a row holds, and its cells."""
    cells = compared.cells
    yield "paper", [Cell(paper_words(cell.paper)) for cell in cells]
    if compared.absence is not None:
        yield "ours", [_verdict_cell(cell.verdict, cell.verdict) for cell in cells]
        return
    yield "ours", [Cell(our_words(cell.ours, digits)) for cell in cells]
    marks = [", nearest" if _is_among(cell, nearest) else "" for cell in cells]
    yield (
        "verdict",
        [
            _verdict_cell(verdict_words(cell, digits) + mark, cell.verdict)
            for cell, mark in zip(cells, marks, strict=True)
        ],
    )
    if any(cell.nested is not None for cell in cells):
        yield "nested", [Cell(our_words(cell.nested, digits)) for cell in cells]
    for references in zip(*(cell.references for cell in cells), strict=True):
        texts = [
            NOTHING if ref.figure is None else f"{ref.figure.printed}: {ref.verdict}"
            for ref in references
        ]
        verdicts = [ref.verdict for ref in references]
        yield references[0].source, list(map(_verdict_cell, texts, verdicts))


def _verdict_cell(text: str, verdict: Verdict) -> Cell:
    is_compared = verdict in ("within 2 se", "within tolerance", "above", "below")
    return Cell(text, kind=f"verdict {verdict.replace(' ', '-') if is_compared else 'missing'}")


def _is_among(cell: ComparedCell, cells: Sequence[ComparedCell]) -> bool:
    return any(cell is other for other in cells)  # equal cells may stand in two rows


def paper_words(figure: PaperFigure | None) -> str:
    """Return a figure as printed; a dash for an empty cell."""
    return NOTHING if figure is None else figure.printed


def our_words(summary: Summary | None, digits: int | None) -> str:
    """Return mean ± standard error (n); a single value alone; a dash for none."""
    if summary is None:
        return NOTHING
    count = "" if summary.standard_error is None else f" ({summary.n})"
    return mean_text(summary, digits) + count


def verdict_words(cell: ComparedCell, digits: int | None) -> str:
    """Return the difference, the verdict and z, if any; "same" where it is exactly nil."""
    if cell.difference is None:
        return cell.verdict
    if cell.difference == 0.0:
        return _SAME
    text = f"{signed_number(cell.difference, digits)} {cell.verdict}"
    return text if cell.z is None else f"{text} (z {signed_number(cell.z, 1)})"


def verdict_counts(cells: Iterable[ComparedCell]) -> str:
    """Return the counts of the verdicts in words, in the order of the rule."""
    counts = Counter(_SAME if cell.difference == 0.0 else cell.verdict for cell in cells)
    return ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in (_SAME, *get_args(Verdict)) if counts[verdict]
    )


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return the notes of the table, then those of its rows, and which rows are missing and why."""
    notes = list(comparison.table.notes)
    missing: dict[str, list[str]] = {}
    for compared in comparison.rows:
        notes += [f"{compared.row.title}: {note}" for note in compared.row.notes]
        if compared.absence is not None:
            missing.setdefault(compared.absence, []).append(compared.row.title)
    return notes + [f"Missing, {why}: {'; '.join(rows)}." for why, rows in missing.items()]


def making_notes(comparison: Comparison) -> list[str]:
    """Return where and with what the runs were made; nothing for a table without runs."""
    making = comparison.making
    if making.runs == 0:
        return []
    return [
        f"{making.runs} runs, {duration(making.seconds)} in all; {'; '.join(making.devices)}",
        *making.versions,
    ]
