"""The few colours of the figures, apart in brightness as well as in hue (Okabe and Ito's)."""

from __future__ import annotations

from typing import Final

INK: Final = "#00507f"  # what is meant
MARK: Final = "#d55e00"  # what to look at
FAINT: Final = "#b5c4cf"  # what stands behind
WORDS: Final = "#1d2730"  # words, axes and outlines
GRID: Final = "#e0e0e0"
PAPER: Final = "#fffffe"  # the ground; not quite white, which is also a colour of words
