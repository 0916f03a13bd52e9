"""A compared cell in words: what Markdown, HTML and the terminal all print."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agnn.report.numbers import NOTHING

if TYPE_CHECKING:
    from agnn.experiments import ComparedCell, ComparedRow, Comparison, PaperFigure
    from agnn.metrics import Summary


class Line(NamedTuple):
    """One line of a row: what it holds, and a text and a kind for every column."""

    what: str
    cells: tuple[str, ...]
    kinds: tuple[str, ...]  # the verdicts in a line of verdicts, else empty texts


def row_lines(compared: ComparedRow, digits: int | None) -> list[Line]:
    """The paper's line, ours, the verdicts; then the honest figures and other papers', if any.

    A row whose method is not there has only the paper's line and the word.
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
            tuple(verdict_words(cell, digits) for cell in cells),
            tuple(cell.verdict for cell in cells),
        ),
    ]
    if any(cell.beside is not None for cell in cells):
        honest = tuple(our_words(cell.beside, digits) for cell in cells)
        lines.append(Line("honest", honest, plain))
    return lines + [_reference_line(compared, k) for k in range(len(cells[0].references))]


def _reference_line(compared: ComparedRow, k: int) -> Line:
    others = [cell.references[k] for cell in compared.cells]
    words = tuple(
        NOTHING if each.figure is None else f"{each.figure.printed}: {each.verdict}"
        for each in others
    )
    return Line(others[0].source, words, tuple(each.verdict for each in others))


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
    """The verdict, after the difference where there is one; "same" where it is exactly nil."""
    if cell.difference is None:
        return cell.verdict
    if cell.difference == 0.0:
        return "same"
    return f"{signed_number(cell.difference, digits)} {cell.verdict}"


def number(value: float, digits: int | None) -> str:
    """With so many decimal places; with None as few as it needs."""
    return f"{value:g}" if digits is None else f"{value:.{digits}f}"


def signed_number(value: float, digits: int | None) -> str:
    """The same with a sign; what rounds to zero has none."""
    text = number(value, digits)
    if float(text) == 0:
        return number(0.0, digits)
    return f"+{text}" if value > 0 else "\N{MINUS SIGN}" + text.removeprefix("-")


def count_words(comparison: Comparison) -> str:
    """How many cells have which verdict."""
    counts: dict[str, int] = {}
    for row in comparison.rows:
        for cell in row.cells:
            counts[cell.verdict] = counts.get(cell.verdict, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def note_words(comparison: Comparison) -> list[str]:
    """The notes of the table, then those of its rows, and which rows are missing and why."""
    words, missing = list(comparison.table.notes), dict[str, list[str]]()
    for compared in comparison.rows:
        words += [f"{compared.row.title}: {note}" for note in compared.row.notes]
        # A method that stands in several rows says it once.
        if compared.method_note and not any(compared.method_note in word for word in words):
            words.append(f"{compared.row.title}: {compared.method_note}")
        if compared.absence is not None:
            missing.setdefault(compared.absence, []).append(compared.row.title)
    return words + [f"Missing, {why}: {'; '.join(rows)}." for why, rows in missing.items()]


def making_words(comparison: Comparison) -> list[str]:
    """Where and with what the runs were made; nothing for a table without runs."""
    making = comparison.making
    if making.runs == 0:
        return []
    return [
        f"{making.runs} runs, {time_words(making.seconds)} in all; {'; '.join(making.devices)}",
        *making.versions,
    ]


def time_words(seconds: float) -> str:
    """Seconds, minutes or hours, whichever a person would say."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
