"""How all figures of a page look: its words and lines in colours that the page may change."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final

import matplotlib

from agnn.report.palette import GRID, PAPER, WORDS

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
    """The look, while figures are made and while they are rendered."""
    # Ticks come into being only when a figure is rendered: both need it.
    return matplotlib.rc_context(_STYLE)
