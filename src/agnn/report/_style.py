"""How figures look: their colours, and the style that a page may recolour."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

import matplotlib
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

INK: Final = "#00507f"  # the main data
MARK: Final = "#d55e00"  # what to look at
FAINT: Final = "#b5c4cf"  # what lies behind
WORDS: Final = "#1d2730"  # text, axes and outlines
GRID: Final = "#e0e0e0"
EDGE: Final = "#9a9a9a"  # lines of a graph
EMPTY: Final = "#e8e8e8"  # a cell without a value
PAPER: Final = "#fffffe"  # the ground; not quite white, which is also a colour of text
# Okabe and Ito's, which can be told apart without full colour vision; neighbours in the list
# differ in brightness too.
CLASSES: Final = (
    "#e69f00", "#0072b2", "#f0e442", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
)  # fmt: skip
LAYERS: Final = (INK, MARK, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


_STYLE: Final[dict[Any, Any]] = {
    "text.color": WORDS,
    "axes.labelcolor": WORDS,
    "axes.edgecolor": WORDS,
    "axes.titlecolor": WORDS,
    "xtick.color": WORDS,
    "ytick.color": WORDS,
    "legend.labelcolor": WORDS,
    "grid.color": GRID,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "savefig.facecolor": PAPER,
    "axes.titlesize": 11,
    "axes.linewidth": 0.7,
}


def figure_style() -> AbstractContextManager[None]:
    """The style, to be active while figures are made and while they are rendered.

    Ticks are created when a figure is rendered, so both need it.
    """
    return matplotlib.rc_context(_STYLE)


def ink_on(ground: ArrayLike) -> str:
    """Black or white, whichever has more contrast (WCAG) on an sRGB colour [3]."""
    colour = np.asarray(ground, dtype=np.float64)
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "black" if luminance > 0.179 else "white"
