"""Pictures of neighbourhoods: panels side by side on one layout, with one legend."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.drawing import Mark, class_mark, joint_layout, mark_areas
from agnn.errors import InputError
from agnn.explanation import Neighbourhood
from agnn.palette import AGAINST, FOR, ink_on
from agnn.report._hub_pictures import draw_hub, sign_colour
from agnn.report._rendering import EDGE, GRID, HOLLOW, PAPER, SIGN_INK, WORDS, new_figure
from agnn.tables import signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.path import Path


MOST_DRAWN: Final = 60  # nodes in a picture; more cannot be told apart
DRAWABLE: Final = range(5, MOST_DRAWN + 1)  # fewer show nothing
_SIDE: Final = 3.4  # inches of a panel
_NUMBERED: Final = 15.0  # points across from which on a mark holds its number
_NOTE_LETTERS: Final = 44  # in a line below a panel
_MANY_LINES: Final = 150  # edges, beyond which they are drawn thinner
_MARGIN: Final = 0.15  # around the marks, in lengths of an edge
_LEAST_HALF_SIDE: Final = 1.6  # so that two nodes alone are not blown up
_READING: Final = {
    "attention": "area and number: percent of what reaches the target; colour and shape: label",
    "contribution": "area and number: what a node adds to the lead of the prediction over the "
    "second class; shape: label",
    "removal": "area and number: by how many points the prediction falls without the edge to that "
    "neighbour; shape: label",
}
_HUB_READING: Final = {
    "attention": "area and number: percent of what reaches the target, by group of nodes",
    "contribution": "area and number: what nodes add together to the lead of the prediction over "
    "the second class; a second rim: a group",
    "removal": "area and number: by how many points the prediction falls without the edge to that "
    "neighbour",
}
LENSES: Final = ("contribution", "attention", "removal")
_LARGEST_EFFECT: Final = 0.2  # the share whose area the largest effect of a removal has
_LETTER: Final = 0.085  # inches, generously
_LEGEND_FONT: Final = 9
_LARGEST: Final = float(mark_areas(np.ones(1))[0])  # the area of a mark that has all the attention


class Panel(NamedTuple):
    """One neighbourhood in a figure."""

    neighbourhood: Neighbourhood
    title: str  # above it
    note: str = ""  # below it
    lens: str = "attention"  # one of LENSES

    @property
    def is_hub(self) -> bool:
        """Whether groups are drawn and not single nodes, of which most would be left out."""
        return self.neighbourhood.is_hub

    @property
    def values(self) -> NDArray[np.float64]:
        """What the numbers in the marks say; [k]."""
        if self.lens == "contribution":
            return self.neighbourhood.contributions
        if self.lens == "removal":
            effects = self.neighbourhood.effects
            return 100 * (
                np.full(self.neighbourhood.nodes.size, np.nan) if effects is None else effects
            )
        return 100 * self.neighbourhood.shares

    @property
    def shares(self) -> NDArray[np.float64]:
        """What the areas of the marks say, as shares of a whole; [k]."""
        if self.lens == "attention":
            return self.neighbourhood.shares
        if self.lens == "contribution":
            return self.neighbourhood.contribution_shares
        size = np.nan_to_num(np.abs(self.values))
        return _LARGEST_EFFECT * size / max(float(size.max()), 1e-12)

    def colour(self, node: int) -> str:
        """Return the colour of a mark: of the class, or of the sign where the lens has one."""
        if self.lens == "attention":
            return class_mark(int(self.neighbourhood.labels[node])).colour
        return sign_colour(float(np.nan_to_num(self.values[node])), self.lens)

    def number(self, node: int) -> str:
        """Return the number in a mark."""
        value = float(self.values[node])
        if self.lens == "attention":
            return f"{value:.0f}"
        if np.isnan(value):
            return ""
        return signed_number(value, 2 if self.lens == "contribution" else 0)

    @property
    def caption(self) -> str:
        """The note, and how much comes from nodes that are not shown; wrapped."""
        lines = [*self.note.splitlines(), _unseen(self.neighbourhood)]
        if self.lens != "attention" or self.is_hub:
            lines = self.note.splitlines()
        return "\n".join(textwrap.fill(line, _NOTE_LETTERS) for line in lines if line)


def _unseen(neighbourhood: Neighbourhood) -> str:
    left_out = neighbourhood.left_out
    share = 100 * (1 - neighbourhood.shares.sum())
    if left_out:
        nodes = "node is" if left_out == 1 else "nodes are"
        return f"{left_out} near {nodes} not shown; {share:.0f} % is from there or farther away"
    return f"{share:.0f} % is from farther away" if share >= 0.5 else ""


def neighbourhood_figure(columns: Sequence[Sequence[Panel]], class_names: Sequence[str]) -> Figure:
    """Return panels side by side, one column per target; its panels share their positions.

    The lens of a panel says what areas, colours and numbers mean; with attention, colour and shape
    are the label. The target has a thick outline, a training node a star.
    """
    panels = [panel for column in columns for panel in column]
    if not panels:
        raise InputError("`columns` must hold at least one panel; got none.")
    rows = max(map(len, columns))
    width = _SIDE * len(columns)
    legend = _legend([p.neighbourhood for p in panels], class_names, width, panels[0].lens)
    lines = max(panel.caption.count("\n") + 1 for panel in panels)
    height = (_SIDE + 0.25 + 0.16 * lines) * rows + legend.height
    figure = new_figure(width, height)
    grid = figure.subplots(rows, len(columns), squeeze=False)
    for k, column in enumerate(columns):
        _draw_column(list(grid[:, k]), column)
        for axes in grid[len(column) :, k]:
            axes.set_axis_off()
    legend.write(figure)
    return figure


def lone_neighbourhood(panel: Panel) -> Figure:
    """Return one panel without a legend, for a page that has it once for all."""
    lines = panel.caption.count("\n") + 1
    figure = new_figure(_SIDE, _SIDE + 0.25 + 0.16 * lines)
    _draw_column([figure.add_subplot()], [panel])
    return figure


def _draw_column(axes: Sequence[Axes], column: Sequence[Panel]) -> None:
    """Draw panels of the same target one below the other, on one layout."""
    if any(panel.is_hub for panel in column):
        for panel_axes, panel in zip(axes, column, strict=False):
            _frame_panel(panel_axes, panel)
            draw_hub(panel_axes, panel.neighbourhood, panel.lens)
        return
    # The same positions for the same node in every panel.
    layouts = joint_layout(
        [panel.neighbourhood for panel in column], list(map(_mark_reaches, column))
    )
    middle, half = _frame(column, layouts)
    for panel_axes, panel, position in zip(axes, column, layouts, strict=False):
        _draw_panel(panel_axes, panel, position, middle, half)


def legend_figure(
    neighbourhoods: Sequence[Neighbourhood], class_names: Sequence[str], width: float, lens: str
) -> Figure:
    """Return the legend alone, `width` inches wide."""
    legend = _legend(neighbourhoods, class_names, width, lens)
    figure = new_figure(width, legend.height)
    legend.write(figure)
    return figure


def _frame(
    column: Sequence[Panel], layouts: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], float]:
    """Return the middle [2] and half the side of a square that holds every panel of a column."""
    reaches = [_mark_reaches(panel)[:, None] for panel in column]
    low = np.min([(p - r).min(0) for p, r in zip(layouts, reaches, strict=True)], axis=0)
    high = np.max([(p + r).max(0) for p, r in zip(layouts, reaches, strict=True)], axis=0)
    return (low + high) / 2, max(float((high - low).max()) / 2 + _MARGIN, _LEAST_HALF_SIDE)


def _mark_reaches(panel: Panel) -> NDArray[np.float64]:
    """Return the distance from the middle of each mark to its farthest point; [k]."""
    shapes = np.array([class_mark(label).reach for label in panel.neighbourhood.labels.tolist()])
    reaches: NDArray[np.float64] = np.sqrt(mark_areas(panel.shares)) * shapes
    return reaches


def _path(mark: Mark) -> Path:
    """Return the shape of a mark as matplotlib has it."""
    from matplotlib.path import Path

    step = Path.CURVE4 if mark.is_curved else Path.LINETO
    codes = [Path.MOVETO, *[step] * (len(mark.points) - 1), Path.CLOSEPOLY]
    return Path(np.vstack([mark.points, mark.points[:1]]), codes)


def _draw_panel(
    axes: Axes,
    panel: Panel,
    position: NDArray[np.float64],
    middle: NDArray[np.float64],
    half: float,
) -> None:
    """Draw the nodes at `position` [k, 2] into a square around `middle` [2], `half` its side."""
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    _frame_panel(axes, panel)
    neighbourhood = panel.neighbourhood
    _draw_edges(axes, neighbourhood, position)
    areas = mark_areas(panel.shares)
    across = 2 * np.sqrt(areas / np.pi) * _SIDE * 72 / (2 * half)  # points
    for node in range(neighbourhood.nodes.size):
        _draw_mark(axes, panel, node, position[node], float(areas[node]))
        if neighbourhood.is_train[node]:
            _draw_star(axes, neighbourhood, node, position[node], float(areas[node]))
        if across[node] >= _NUMBERED:
            _write_number(axes, panel, node, position[node], float(across[node]))


def _frame_panel(axes: Axes, panel: Panel) -> None:
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(GRID)
    axes.set_title(panel.title, fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel(panel.caption, fontsize=9, loc="left", parse_math=False)


def _draw_edges(axes: Axes, neighbourhood: Neighbourhood, position: NDArray[np.float64]) -> None:
    from matplotlib.collections import LineCollection

    i, j = neighbourhood.edges[:, neighbourhood.edges[0] < neighbourhood.edges[1]]
    lines = list(np.stack([position[i], position[j]], 1))
    width = 0.8 if len(lines) <= _MANY_LINES else 0.4
    axes.add_collection(LineCollection(lines, colors=EDGE, linewidths=width, zorder=1))


def _draw_mark(
    axes: Axes, panel: Panel, node: int, position: NDArray[np.float64], area: float
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.transforms import Affine2D

    neighbourhood = panel.neighbourhood
    label = int(neighbourhood.labels[node])
    move = Affine2D().scale(np.sqrt(area)).translate(*position)
    # Without a label a mark is empty, so that it differs from every class where it is small.
    is_empty = label < 0
    patch = PathPatch(
        _path(class_mark(label)).transformed(move),
        facecolor=HOLLOW if is_empty else panel.colour(node),
        edgecolor=panel.colour(node) if is_empty and panel.lens != "attention" else WORDS,
        linewidth=2.6 if node == 0 else 1.6 if is_empty else 0.6,
        joinstyle="round",
        zorder=3.0 - min(1.0, area / _LARGEST) * 0.9,  # small marks lie on top of large ones
        gid=f"node-{neighbourhood.nodes[node]}",
    )
    axes.add_patch(patch)


def _draw_star(
    axes: Axes, neighbourhood: Neighbourhood, node: int, position: NDArray[np.float64], area: float
) -> None:
    """Draw it beside the mark, for the star must not hide the colour of a small one."""
    from matplotlib.transforms import ScaledTranslation

    beside = axes.transData + ScaledTranslation(3.5 / 72, 3.5 / 72, axes.figure.dpi_scale_trans)
    axes.plot(
        *(position + 0.7 * np.sqrt(area / np.pi)),
        transform=beside,
        marker="*",
        markersize=10,
        color=WORDS,
        markeredgecolor=PAPER,
        markeredgewidth=0.7,
        linestyle="none",
        zorder=5,
        gid=f"train-{neighbourhood.nodes[node]}",
    )


def _write_number(
    axes: Axes, panel: Panel, node: int, position: NDArray[np.float64], across: float
) -> None:
    """Write the number in a mark that is `across` points wide."""
    text = panel.number(node)
    x, y = position.tolist()
    size = min(8.5, across * (0.42 if len(text) < 3 else 1.05 / len(text)))
    colour = panel.colour(node)
    if panel.neighbourhood.labels[node] < 0:
        ink = WORDS
    else:
        ink = SIGN_INK if colour in (FOR.light, AGAINST.light) else ink_on(colour)
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=ink, zorder=4)


class _Legend(NamedTuple):
    """What a figure's marks mean, broken into lines that fit its width."""

    keys: list[Line2D]
    columns: int
    title: str

    @property
    def height(self) -> float:
        """The inches that it takes."""
        lines = self.title.count("\n") + 1 + math.ceil(len(self.keys) / self.columns)
        return 0.25 + 0.19 * lines

    def write(self, figure: Figure) -> None:
        """Put the legend below all panels of the figure."""
        # A legend fills its columns from top to bottom; this order makes it read row by row.
        by_row = [key for first in range(self.columns) for key in self.keys[first :: self.columns]]
        legend = figure.legend(
            handles=by_row,
            loc="outside lower center",
            ncols=self.columns,
            frameon=False,
            fontsize=_LEGEND_FONT,
            title=self.title,
            title_fontsize=_LEGEND_FONT,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def _legend(
    neighbourhoods: Sequence[Neighbourhood], class_names: Sequence[str], width: float, lens: str
) -> _Legend:
    """Return the classes that occur and what else a mark can have, in `width` inches."""
    of_nodes = [n.labels for n in neighbourhoods if not n.is_hub]
    present = np.unique(np.concatenate(of_nodes)).tolist() if of_nodes else []
    keys = [
        _class_key(label, class_names[label] if label >= 0 else "no label", lens)
        for label in present
    ]
    if lens != "attention":
        keys.append(_key("s", FOR.light, 0.6, "for the prediction"))
        keys.append(_key("s", AGAINST.light, 0.6, "against it"))
    keys.append(_key("o", PAPER, 2.4, "target") if of_nodes else _key("o", WORDS, 0.6, "target"))
    if of_nodes and any(n.is_train.any() for n in neighbourhoods):
        keys.append(_key("*", WORDS, 0.6, "training node"))
    letters = max(len(str(key.get_label())) for key in keys)
    fitting = max(1, int(width / (0.45 + _LETTER * letters)))
    rows = math.ceil(len(keys) / fitting)
    reading = _READING[lens] if of_nodes else _HUB_READING[lens]
    title = textwrap.fill(reading, max(20, int(width / _LETTER)))
    return _Legend(keys, math.ceil(len(keys) / rows), title)


def _class_key(label: int, name: str, lens: str) -> Line2D:
    mark = class_mark(label)
    colour = HOLLOW if label < 0 else mark.colour if lens == "attention" else EDGE
    key = _key("o", colour, 1.6 if label < 0 else 0.6, name)
    key.set_marker(_path(mark))
    return key


def _key(marker: str, colour: str, outline: float, label: str) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=9,
        markerfacecolor=colour,
        markeredgecolor=WORDS,
        markeredgewidth=outline,
        label=label,
    )
