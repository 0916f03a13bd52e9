"""Neighbourhoods side by side, with one legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.figure import Figure

from agnn.errors import InputError
from agnn.report.neighbourhood_legend import legend_of
from agnn.report.neighbourhood_panel import SIDE, draw_panel, mark_reaches
from agnn.report.node_layout import node_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from agnn.explanation import Neighbourhood
    from agnn.report.neighbourhood_panel import Panel

_MARGIN: Final = 0.15  # around the marks, in lengths of an edge
_LEAST_HALF_SIDE: Final = 1.6  # so that two nodes alone are not blown up


def neighbourhood_figure(columns: Sequence[Sequence[Panel]], class_names: Sequence[str]) -> Figure:
    """Panels side by side, one column a target; the panels of a column share their places.

    The area of a node is its share of all that reaches the target, the paths through all layers
    taken together; colour and shape are its true class. The target has a thick outline, a
    training node a star. Large nodes hold their share in percent.
    """
    panels = [panel for column in columns for panel in column]
    if not panels:
        raise InputError("`columns` must hold at least one panel; got none.")
    rows, width = max(map(len, columns)), SIDE * len(columns)
    legend = legend_of([panel.neighbourhood for panel in panels], class_names, width)
    lines = max(panel.caption.count("\n") + 1 for panel in panels)
    height = (SIDE + 0.25 + 0.16 * lines) * rows + legend.height
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, len(columns), squeeze=False)
    for k, column in enumerate(columns):
        shown = [panel.neighbourhood for panel in column]
        places = _shared_places(shown)
        middle, half = _frame(shown, places)
        for row, (panel, place) in enumerate(zip(column, places, strict=True)):
            draw_panel(grid[row, k], panel, place, middle, half)
        for axes in grid[len(column) :, k]:
            axes.set_axis_off()
    legend.write(figure)
    return figure


def lone_neighbourhood(panel: Panel) -> Figure:
    """One panel without a legend, for a page that has it once for all."""
    lines = panel.caption.count("\n") + 1
    figure = Figure(figsize=(SIDE, SIDE + 0.25 + 0.16 * lines), layout="constrained")
    (place,) = _shared_places([panel.neighbourhood])
    middle, half = _frame([panel.neighbourhood], [place])
    draw_panel(figure.add_subplot(), panel, place, middle, half)
    return figure


def legend_figure(
    shown: Sequence[Neighbourhood], class_names: Sequence[str], width: float
) -> Figure:
    """The legend alone, `width` inches wide."""
    legend = legend_of(shown, class_names, width)
    figure = Figure(figsize=(width, legend.height), layout="constrained")
    legend.write(figure)
    return figure


def _shared_places(column: Sequence[Neighbourhood]) -> list[NDArray[np.float64]]:
    """Each panel's places [k, 2]: the same for the same nodes, whatever their order."""
    first = column[0]
    order = np.argsort(first.nodes)
    if any(not np.array_equal(np.sort(each.nodes), first.nodes[order]) for each in column):
        return [node_layout(each.edges, each.parents, mark_reaches(each)) for each in column]
    ways = [order[np.searchsorted(first.nodes, each.nodes, sorter=order)] for each in column]
    reaches = np.zeros(first.nodes.size)
    for each, way in zip(column, ways, strict=True):
        reaches[way] = np.maximum(reaches[way], mark_reaches(each))
    place = node_layout(first.edges, first.parents, reaches)
    return [place[way] for way in ways]


def _frame(
    column: Sequence[Neighbourhood], places: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], float]:
    """The middle [2] and half the side of a square that holds every panel of a column."""
    reaches = [mark_reaches(each)[:, None] for each in column]
    low = np.min([(p - r).min(0) for p, r in zip(places, reaches, strict=True)], axis=0)
    high = np.max([(p + r).max(0) for p, r in zip(places, reaches, strict=True)], axis=0)
    return (low + high) / 2, max(float((high - low).max()) / 2 + _MARGIN, _LEAST_HALF_SIDE)
