"""Accuracy by class, with both of its uncertainties."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure

from agnn.report.palette import GRID, INK, MARK
from agnn.report.shown_text import shown_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.metrics import ClassAccuracy

_LETTERS: Final = 26  # in a line of a class's name


def class_accuracy_figure(rows: Sequence[ClassAccuracy]) -> Figure:
    """A line a class: the ensemble with Wilson's interval, the replicas with their error."""
    figure = Figure(figsize=(6.4, 1.0 + 0.42 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        if row.interval is not None and row.ensemble is not None:
            axes.plot(row.interval, [place - 0.13] * 2, color=INK, linewidth=1.6)
            axes.plot(row.ensemble, place - 0.13, "o", color=INK, markersize=6)
        if row.replicas is not None:
            error = row.replicas.standard_error or 0.0
            ends = (row.replicas.mean - error, row.replicas.mean + error)
            axes.plot(ends, [place + 0.17] * 2, color=MARK, linewidth=3.2, solid_capstyle="butt")
            axes.plot(row.replicas.mean, place + 0.17, "D", color=MARK, markersize=4.5)
    axes.plot([], [], "o-", color=INK, markersize=6, label="ensemble, 95 % of test nodes")
    axes.plot([], [], "D-", color=MARK, markersize=4.5, label="one replica, standard error")
    names = [textwrap.fill(shown_text(row.name, 3 * _LETTERS), _LETTERS) for row in rows]
    axes.set_yticks(range(len(rows)), names)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("right answers (%)")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure
