"""A leaderboard as a figure, as Markdown and as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from agnn import __version__
from agnn.metrics import MEASURES, Measure
from agnn.report._rendering import (
    EDGE,
    FAINT,
    FIGURES,
    INK,
    MARK,
    clear_axes,
    figure_style,
    inline_drawing,
    new_figure,
    page_template,
    png,
    svg,
    write_report,
    write_whole,
)
from agnn.studies import Leaderboard
from agnn.tables import shown_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_NAME: Final = "leaderboard"
_FAR: Final = 3.0  # times the middle method's distance to the best
_CAPTION: Final = (
    "Left: the mean over the replicas with its standard error. Right: the difference to the best "
    "on the same test nodes with its 95 % interval; where it reaches zero, the two are tied. A "
    "triangle at the edge is a method far behind."
)


def leaderboard_figure(board: Leaderboard) -> Figure:
    """Return means with standard errors, and paired differences with intervals, a line per method.

    Methods that are far behind stand at the edge, as triangles: they would press the others into
    one point.
    """
    measure = MEASURES[board.metric]
    entries = board.entries
    gaps = [0.0 if entry.difference is None else entry.difference.mean for entry in entries]
    far = _FAR * max(abs(gaps[len(gaps) // 2]), _step(measure))
    with figure_style():
        figure = new_figure(9.0, 1.2 + 0.36 * len(entries))
        left, right = figure.subplots(1, 2, sharey=True)
        for line, (entry, gap) in enumerate(zip(entries, gaps, strict=True)):
            summary = entry.measures[board.metric]
            colour = INK if entry.is_tied else EDGE
            if abs(gap) > far:
                _mark_far(left, line, is_loss=measure.is_loss)
                _mark_far(right, line, is_loss=measure.is_loss)
                continue
            left.plot(summary.values, [line] * summary.n, "o", color=FAINT, markersize=3, zorder=1)
            error = summary.standard_error or 0.0
            ends = (summary.mean - error, summary.mean + error)
            left.plot(ends, [line, line], color=INK, linewidth=2)
            left.plot(summary.mean, line, "o", color=INK, markersize=6)
            if entry.difference is not None:
                right.plot(entry.difference.interval, [line, line], color=colour, linewidth=2)
                right.plot(gap, line, "o", color=colour, markersize=6)
            else:
                right.plot(0.0, line, "D", color=MARK, markersize=6)
        right.axvline(0.0, color=MARK, linewidth=1)
        unit = f" ({measure.unit.strip()})" if measure.unit else ""
        left.set_xlabel(f"{measure.title} on test nodes{unit}")
        right.set_xlabel(f"difference to the best{' (points)' if unit else ''}")
        left.set_yticks(range(len(entries)), [shown_text(entry.title, 28) for entry in entries])
        left.set_ylim(len(entries) - 0.5, -0.5)
        for axes in (left, right):
            axes.margins(x=0.08)
            clear_axes(axes, "x")
            axes.tick_params(axis="y", length=0, pad=9)  # clear of the triangle at the edge
    return figure


def _mark_far(axes: Axes, line: int, *, is_loss: bool) -> None:
    """Draw a triangle at the edge where values are worse than those shown."""
    axes.plot(
        1.0 if is_loss else 0.0,
        line,
        ">" if is_loss else "<",
        color=EDGE,
        markersize=7,
        transform=axes.get_yaxis_transform(),
        clip_on=False,
    )


def _step(measure: Measure) -> float:
    """Return a small difference in a measure: half a point, or a hundredth."""
    return 0.5 if measure.unit else 0.01


def leaderboard_page(board: Leaderboard, figure: Figure, command: str = "") -> str:
    """Return the page as HTML; `command` is what made it, if known."""
    with figure_style():
        drawing = inline_drawing(svg(figure), "leaderboard", _CAPTION)
    return page_template("leaderboard.html").render(
        board=board,
        metric=MEASURES[board.metric].title,
        figure=drawing,
        caption=_CAPTION,
        command=command,
        version=__version__,
    )


def leaderboard_markdown(board: Leaderboard, command: str = "") -> str:
    """Return the page as Markdown."""
    parts = [
        f"# Methods on {shown_text(board.data.name)}, split {shown_text(board.split)}",
        f"    {command}" if command else "",
        board.table.markdown(),
        "\n".join(f"- {note}" for note in board.notes),
        f"![{_CAPTION}]({FIGURES}/{_NAME}.png)",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_leaderboard(board: Leaderboard, folder: Path, command: str = "") -> Path:
    """Write leaderboard.html, .md, .json and .csv and the figure; return the path of the page."""
    figure = leaderboard_figure(board)
    with figure_style():
        write_whole(folder / FIGURES / f"{_NAME}.svg", svg(figure))
        write_whole(folder / FIGURES / f"{_NAME}.png", png(figure))
    write_whole(folder / f"{_NAME}.csv", board.table.csv())
    page = leaderboard_page(board, figure, command)
    values = {**board.to_dict(), "command": command}
    write_report(folder, _NAME, leaderboard_markdown(board, command), page, values)
    return folder / f"{_NAME}.html"
