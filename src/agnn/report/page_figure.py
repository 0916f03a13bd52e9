"""A figure on a page."""

from __future__ import annotations

from typing import NamedTuple


class PageFigure(NamedTuple):
    """What is drawn, and what is said below it."""

    svg: str
    caption: str  # also what a screen reader says
