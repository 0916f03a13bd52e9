"""A leaderboard as rows of text, as a figure, as Markdown and as an HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from agnn import __version__
from agnn.experiments import duration
from agnn.files import plain
from agnn.metrics import MEASURES, Measure, Summary
from agnn.report._environment import environment
from agnn.report._files import FIGURES, write_report, write_whole
from agnn.report._rendering import inlined, png, svg
from agnn.report._style import EDGE, FAINT, GRID, INK, MARK, figure_style
from agnn.report._text import NOTHING, shown_text

if TYPE_CHECKING:
    from pathlib import Path

    from agnn.leaderboard import Entry, Leaderboard

_NAME: Final = "leaderboard"
_FAR: Final = 3.0  # times the middle method's distance to the best
_MINUS: Final = "\N{MINUS SIGN}"
_CAPTION: Final = (
    "Left: the mean over the replicas with its standard error. Right: the difference to the best "
    "on the same test nodes with its 95 % interval; where it reaches zero, the two are tied. A "
    "triangle at the edge is a method far behind."
)


class BoardRow(NamedTuple):
    """An entry as text."""

    title: str
    measures: tuple[str, ...]  # in the order of `board_columns`
    difference: str
    validation: str
    n: str
    time: str
    memory: str
    is_tied: bool


def board_columns(board: Leaderboard) -> list[str]:
    """The measures by name, the one that orders first."""
    return sorted(MEASURES, key=lambda name: name != board.metric)


def board_rows(board: Leaderboard) -> list[BoardRow]:
    """The entries as text."""
    names, measure = board_columns(board), MEASURES[board.metric]
    return [
        BoardRow(
            entry.title,
            tuple(_mean(MEASURES[name], entry.measures[name]) for name in names),
            _difference(measure, entry),
            NOTHING if entry.validation is None else measure.shown(entry.validation.mean),
            str(entry.n),
            duration(entry.seconds),
            _memory(entry.memory),
            entry.is_tied,
        )
        for entry in board.entries
    ]


def board_notes(board: Leaderboard) -> list[str]:
    """What a reader of the table must know."""
    measure, best = MEASURES[board.metric], board.best
    tied = [entry.title for entry in board.tied[1:]]
    words = f"{best.title} has the best {measure.title}"
    words += f"; {_listed(tied)} cannot be distinguished from it." if tied else ", clearly."
    found = [words, *board.warnings]
    if board.chosen is not None:
        found.append(
            f"On validation nodes {board.chosen.title} is best. The order above is by test nodes: "
            f"to quote the figure of a method, choose the method by validation nodes, as "
            f"agnn train --method auto does."
        )
    if board.missing:
        found.append(f"Not reached within the time: {_listed(board.missing)}.")
    return found + [f"Could not be trained: {words}" for words in board.failures]


def leaderboard_figure(board: Leaderboard) -> Figure:
    """Means with standard errors, and paired differences with intervals, a line per method.

    Methods that are far behind stand at the edge, as triangles: they would press the others into
    one point.
    """
    measure, entries = MEASURES[board.metric], board.entries
    gaps = [0.0 if entry.difference is None else entry.difference.mean for entry in entries]
    far = _FAR * max(abs(gaps[len(gaps) // 2]), _step(measure))
    with figure_style():
        figure = Figure(figsize=(9.0, 1.2 + 0.36 * len(entries)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for place, (entry, gap) in enumerate(zip(entries, gaps, strict=True)):
            found = entry.measures[board.metric]
            colour = INK if entry.is_tied else EDGE
            if abs(gap) > far:
                for axes in (left, right):
                    mark = ">" if measure.is_loss else "<"
                    axes.plot(
                        1.0 if measure.is_loss else 0.0, place, mark, color=EDGE, markersize=7,
                        transform=axes.get_yaxis_transform(), clip_on=False,
                    )  # fmt: skip
                continue
            left.plot(found.values, [place] * found.n, "o", color=FAINT, markersize=3, zorder=1)
            error = found.standard_error or 0.0
            ends = (found.mean - error, found.mean + error)
            left.plot(ends, [place, place], color=INK, linewidth=2)
            left.plot(found.mean, place, "o", color=INK, markersize=6)
            if entry.difference is not None:
                right.plot(entry.difference.interval, [place, place], color=colour, linewidth=2)
                right.plot(gap, place, "o", color=colour, markersize=6)
            else:
                right.plot(0.0, place, "D", color=MARK, markersize=6)
        right.axvline(0.0, color=MARK, linewidth=1)
        unit = f" ({measure.unit.strip()})" if measure.unit else ""
        left.set_xlabel(f"{measure.title} on test nodes{unit}")
        right.set_xlabel(f"difference to the best{' (points)' if unit else ''}")
        left.set_yticks(range(len(entries)), [shown_text(entry.title, 28) for entry in entries])
        left.set_ylim(len(entries) - 0.5, -0.5)
        for axes in (left, right):
            axes.margins(x=0.08)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.grid(axis="x", color=GRID, linewidth=0.6)
            axes.tick_params(axis="y", length=0, pad=9)  # clear of the triangle at the edge
            axes.set_axisbelow(True)
    return figure


def _step(measure: Measure) -> float:
    """A small difference in a measure: half a point, or a hundredth."""
    return 0.5 if measure.unit else 0.01


def leaderboard_fragment(board: Leaderboard) -> Markup:
    """The table as HTML, for a notebook."""
    return Markup(environment().get_template("leaderboard_table.html").render(_words(board)))  # noqa: S704 (escaped by the template)


def leaderboard_page(board: Leaderboard, figure: Figure, command: str = "") -> str:
    """The page as HTML; `command` is what made it, if known."""
    with figure_style():
        drawing = inlined(svg(figure), "leaderboard", _CAPTION)
    return environment().get_template("leaderboard.html").render(
        _words(board), figure=drawing, caption=_CAPTION, command=command, version=__version__
    )  # fmt: skip


def leaderboard_markdown(board: Leaderboard, command: str = "") -> str:
    """The page as Markdown."""
    header = ["", *_titles(board), "to the best", "validation", "n", "time", "memory"]
    lines = [f"# Methods on {shown_text(board.data.name)}, split {shown_text(board.split)}", ""]
    lines += [f"    {command}", ""] if command else []
    lines += [_line(header), _line(["---"] * len(header))]
    for row in board_rows(board):
        title = f"**{row.title}**" if row.is_tied else row.title
        lines.append(
            _line([title, *row.measures, row.difference, row.validation, row.n, row.time,
                   row.memory])
        )  # fmt: skip
    lines += ["", *(f"- {words}" for words in board_notes(board))]
    lines += ["", f"![{_CAPTION}]({FIGURES}/{_NAME}.png)"]
    return "\n".join(lines) + "\n"


def write_leaderboard(board: Leaderboard, folder: Path, command: str = "") -> Path:
    """Write leaderboard.html, .md, .json and .csv and the figure to `folder`; the page's path."""
    figure = leaderboard_figure(board)
    with figure_style():
        write_whole(folder / FIGURES / f"{_NAME}.svg", svg(figure))
        write_whole(folder / FIGURES / f"{_NAME}.png", png(figure))
    write_whole(folder / f"{_NAME}.csv", _csv(board))
    page = leaderboard_page(board, figure, command)
    values = plain({**board.to_dict(), "command": command})
    write_report(folder, _NAME, leaderboard_markdown(board, command), page, values)
    return folder / f"{_NAME}.html"


def _words(board: Leaderboard) -> dict[str, object]:
    return {
        "board": board,
        "titles": _titles(board),
        "rows": board_rows(board),
        "notes": board_notes(board),
        "metric": MEASURES[board.metric].title,
    }


def _titles(board: Leaderboard) -> list[str]:
    return [MEASURES[name].title + MEASURES[name].unit for name in board_columns(board)]


def _csv(board: Leaderboard) -> str:
    """A line per method: each measure with its standard error, the difference, time and memory."""
    names = list(MEASURES)
    header = ["method", "n", *(each for name in names for each in (name, f"{name}_error"))]
    header += ["difference", "difference_low", "difference_high", "seconds", "memory_bytes"]
    lines = [",".join(header)]
    for entry in board.entries:
        gap = entry.difference
        found = [entry.measures[name] for name in names]
        numbers: list[float | None] = [entry.n]
        numbers += [value for each in found for value in (each.mean, each.standard_error)]
        numbers += [0.0] * 3 if gap is None else [gap.mean, *gap.interval]
        numbers += [entry.seconds, entry.memory]
        cells = ["" if value is None or value != value else f"{value:.10g}" for value in numbers]
        lines.append(",".join([entry.name, *cells]))
    return "\n".join(lines) + "\n"


def _mean(measure: Measure, found: Summary) -> str:
    error = found.standard_error
    if error is None or error != error:
        return measure.shown(found.mean)
    return f"{measure.shown(found.mean)} ± {measure.shown(error)}"


def _difference(measure: Measure, entry: Entry) -> str:
    gap = entry.difference
    if gap is None:
        return "best"
    low, high = (_signed(measure, end) for end in gap.interval)
    words = f"{_signed(measure, gap.mean)} ({low} to {high})"
    return f"{words}, tied" if gap.is_tie else words


def _signed(measure: Measure, value: float) -> str:
    return f"{value:+.{measure.digits}f}".replace("-", _MINUS)


def _memory(count: int | None) -> str:
    if count is None:
        return NOTHING
    size = count / 2**20
    return f"{size / 1024:.1f} GiB" if size >= 1024 else f"{max(size, 1.0):.0f} MiB"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
