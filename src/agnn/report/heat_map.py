"""The class-to-class relevance as a picture."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from agnn.report.ink import ink_on
from agnn.report.numbers import signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

# From dark blue to yellow, lighter all the way: it reads the same in grey and to eyes that see
# no red or green. The sign stands in the cells.
_COLOURS: Final = "cividis"
_NO_EDGE: Final = "#e8e8e8"
_LONGEST_LINE: Final = 16  # letters of a class name before it goes on in the next line


def relevance_heat_map(
    relevance: NDArray[np.float64], class_names: Sequence[str], title: str
) -> Figure:
    """A square of cells [c, c], each with its number: row receives, column sends."""
    classes = len(class_names)
    figure = Figure(figsize=(3.2 + 0.72 * classes, 2.2 + 0.6 * classes), layout="constrained")
    axes = figure.add_subplot()
    colours = matplotlib.colormaps[_COLOURS].with_extremes(bad=_NO_EDGE)
    image = axes.imshow(np.ma.masked_invalid(relevance), cmap=colours, aspect="auto")
    _write_values(axes, image, relevance)
    _name_classes(axes, class_names)
    axes.set_title(title, loc="left", parse_math=False)
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("0: an even share of the attention")
    bar.outline.set_visible(False)
    return figure


def _write_values(axes: Axes, image: AxesImage, relevance: NDArray[np.float64]) -> None:
    for (i, j), value in np.ndenumerate(relevance):
        colour = image.to_rgba(np.ma.masked_invalid([value]))[0, :3]
        axes.text(j, i, signed(value), ha="center", va="center", color=ink_on(colour), fontsize=11)


def _name_classes(axes: Axes, class_names: Sequence[str]) -> None:
    lines = [textwrap.fill(name, _LONGEST_LINE) for name in class_names]
    axes.set_xticks(range(len(lines)), lines, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(lines)), lines)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)  # a class name with dollar signs is a name, not a formula
    axes.set_xlabel("neighbour's class (sends)")
    axes.set_ylabel("node's class (receives)")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
