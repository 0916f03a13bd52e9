"""One neighbourhood as a picture: who is around a node, and whom it listens to."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import PathPatch
from matplotlib.transforms import Affine2D, ScaledTranslation

from agnn.report.ink import ink_on
from agnn.report.node_marks import class_mark
from agnn.report.palette import GRID, PAPER, WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from agnn.explanation import Neighbourhood

SIDE: Final = 3.4  # inches of a panel
_WHOLE: Final = 4.0  # area of a mark that has all the attention, an edge being 1 long
_SMALLEST: Final = 0.003  # below this share a mark would vanish and is drawn as if it had it
_NUMBERED: Final = 15.0  # points across from which on a mark holds its number
_NOTE_LETTERS: Final = 44  # in a line below a panel
_MANY_LINES: Final = 150  # edges, beyond which they are drawn thinner
_LINE: Final = "#9a9a9a"


class Panel(NamedTuple):
    """One neighbourhood in a figure."""

    neighbourhood: Neighbourhood
    title: str  # above it
    note: str = ""  # below it

    @property
    def caption(self) -> str:
        """The note, and how much comes from nodes that are not shown; broken into lines."""
        lines = [*self.note.splitlines(), _unseen(self.neighbourhood)]
        return "\n".join(textwrap.fill(line, _NOTE_LETTERS) for line in lines if line)


def _unseen(shown: Neighbourhood) -> str:
    rest, share = shown.left_out, 100 * (1 - shown.shares.sum())
    if rest:
        nodes = "node is" if rest == 1 else "nodes are"
        return f"{rest} near {nodes} not shown; {share:.0f} % is from there or farther away"
    return f"{share:.0f} % is from farther away" if share >= 0.5 else ""


def mark_areas(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The areas of marks by their share of the attention, edges being 1 long; [k]."""
    # Paper: there the radius is proportional to attention. An eye compares areas.
    return _WHOLE * np.maximum(shares, _SMALLEST)


def mark_reaches(shown: Neighbourhood) -> NDArray[np.float64]:
    """How far each node's mark reaches from its middle, edges being 1 long; [k]."""
    corners = [np.linalg.norm(class_mark(c).shape.vertices, axis=1).max() for c in shown.labels]
    reaches: NDArray[np.float64] = np.sqrt(mark_areas(shown.shares)) * corners
    return reaches


def draw_panel(
    axes: Axes, panel: Panel, place: NDArray[np.float64], middle: NDArray[np.float64], half: float
) -> None:
    """Draw the nodes at `place` [k, 2] into a square around `middle` [2], `half` its side."""
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(GRID)
    axes.set_title(panel.title, fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel(panel.caption, fontsize=9, loc="left", parse_math=False)
    shown = panel.neighbourhood
    _draw_edges(axes, shown, place)
    areas = mark_areas(shown.shares)
    across = 2 * np.sqrt(areas / np.pi) * SIDE * 72 / (2 * half)  # points
    for node in range(shown.nodes.size):
        _draw_mark(axes, shown, node, place[node], float(areas[node]))
        if shown.is_train[node]:
            _draw_star(axes, shown, node, place[node], float(areas[node]))
        if across[node] >= _NUMBERED:
            _write_share(axes, shown, node, place[node], min(8.5, 0.42 * float(across[node])))


def _draw_edges(axes: Axes, shown: Neighbourhood, place: NDArray[np.float64]) -> None:
    i, j = shown.edges[:, shown.edges[0] < shown.edges[1]]
    lines = list(np.stack([place[i], place[j]], 1))
    width = 0.8 if len(lines) <= _MANY_LINES else 0.4
    axes.add_collection(LineCollection(lines, colors=_LINE, linewidths=width, zorder=1))


def _draw_mark(
    axes: Axes, shown: Neighbourhood, node: int, place: NDArray[np.float64], area: float
) -> None:
    label = int(shown.labels[node])
    mark = class_mark(label)
    move = Affine2D().scale(np.sqrt(area)).translate(*place)
    patch = PathPatch(
        mark.shape.transformed(move),
        facecolor=mark.colour,
        edgecolor=WORDS,
        linewidth=2.6 if node == 0 else 0.6,
        linestyle="solid" if label >= 0 else (0, (2, 1)),
        joinstyle="round",
        zorder=3.0 - min(1.0, area / _WHOLE) * 0.9,  # small marks lie on top of large ones
        gid=f"node-{shown.nodes[node]}",
    )
    axes.add_patch(patch)


def _draw_star(
    axes: Axes, shown: Neighbourhood, node: int, place: NDArray[np.float64], area: float
) -> None:
    """Beside the mark, for the star must not hide the colour of a small one."""
    beside = axes.transData + ScaledTranslation(3.5 / 72, 3.5 / 72, axes.figure.dpi_scale_trans)
    axes.plot(
        *(place + 0.7 * np.sqrt(area / np.pi)), transform=beside, marker="*", markersize=10,
        color=WORDS, markeredgecolor=PAPER, markeredgewidth=0.7, linestyle="none", zorder=5,
        gid=f"train-{shown.nodes[node]}",
    )  # fmt: skip


def _write_share(
    axes: Axes, shown: Neighbourhood, node: int, place: NDArray[np.float64], size: float
) -> None:
    colour = to_rgb(class_mark(int(shown.labels[node])).colour)
    x, y = place.tolist()
    axes.text(
        x, y, f"{100 * shown.shares[node]:.0f}", ha="center", va="center", fontsize=size,
        color=ink_on(colour), zorder=4,
    )  # fmt: skip
