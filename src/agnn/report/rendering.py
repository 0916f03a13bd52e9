"""Figures to bytes: the same figure gives the same bytes."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import matplotlib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

_DOTS_PER_INCH: Final = 160


def svg(figure: Figure) -> str:
    """The figure as SVG, with its words as text."""
    buffer = io.StringIO()
    # Text stays text, so that it can be searched; ids and dates do not change from run to run.
    with matplotlib.rc_context({"svg.hashsalt": "agnn", "svg.fonttype": "none"}), _any_script():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@contextmanager
def _any_script() -> Iterator[None]:
    """No warning of letters that matplotlib's own font lacks: who shows the text has others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield


def png(figure: Figure) -> bytes:
    """The figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DOTS_PER_INCH)
    return buffer.getvalue()
