"""Figures as SVG and PNG, and as part of a page.

The same figure gives the same bytes. A picture in an `<img>` keeps its own colours; an SVG inside
the page can be dark where the page is, and its text is found by the page's search.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import matplotlib
from markupsafe import Markup

from agnn.report._style import FAINT, GRID, INK, PAPER, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

_DOTS_PER_INCH: Final = 160
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_LINK: Final = f"{{{_XLINK}}}href"
_POINT: Final = 4 / 3  # pixels
_COLOURS: Final = {
    INK: "var(--figure-ink)",
    FAINT: "var(--figure-faint)",
    GRID: "var(--figure-grid)",
    PAPER: "none",
    WORDS: "currentColor",
}
_LONG_NUMBER: Final = re.compile(r"(\d+\.\d\d)\d+")
# matplotlib writes all of a font in one property, or its family in one of its own.
_FONT: Final = re.compile(r"font: (?:[a-z]+ )*?(?P<size>[\d.]+px) [^;]*")
_FAMILY: Final = re.compile(r"font-family: [^;]*;? ?")


# What XML cannot hold, not even as a reference.
_FORBIDDEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class PageFigure(NamedTuple):
    """A drawing and its caption."""

    svg: str
    caption: str  # also read by screen readers


def svg(figure: Figure) -> str:
    """The figure as SVG, with its words as text."""
    buffer = io.StringIO()
    # Text stays text, so that it can be searched; ids and dates do not change from run to run.
    with matplotlib.rc_context({"svg.hashsalt": "agnn", "svg.fonttype": "none"}), _any_script():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", buffer.getvalue())


@contextmanager
def _any_script() -> Iterator[None]:
    """No warning about characters that matplotlib's font lacks: the reader's program has others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield


def png(figure: Figure) -> bytes:
    """The figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DOTS_PER_INCH)
    return buffer.getvalue()


def inline_svg(figure: Figure, name: str, words: str) -> Markup:
    """The figure as an `<svg>` element; `name` is unique on the page, `words` describe it."""
    return inlined(svg(figure), name, words)


def inlined(drawing: str, name: str, words: str) -> Markup:
    """The same from a figure that was rendered before.

    Built from the parsed drawing and written out again, so that what is text in it stays text.
    """
    root = ET.fromstring(drawing)  # noqa: S314 (our own, of this moment)
    _drop(root, "metadata")
    for element in root.findall(f"{{{_SVG}}}defs"):
        _drop(element, "style")  # it would hold for the whole page
    for element in root.iter():
        _rename(element, name)
        _restyle(element)
    width = float(root.attrib.pop("width").removesuffix("pt")) * _POINT
    root.attrib.pop("height")
    root.attrib.update({"role": "img", "aria-label": words, "style": f"--width: {width:.0f}px"})
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 (serialised, so escaped)


def _drop(parent: ET.Element, tag: str) -> None:
    for element in parent.findall(f"{{{_SVG}}}{tag}"):
        parent.remove(element)


def _rename(element: ET.Element, name: str) -> None:
    """Prefix every id in the figure, and every reference to one, with the figure's name."""
    attributes = element.attrib
    if "id" in attributes:
        attributes["id"] = f"{name}-{attributes['id']}"
    if attributes.get(_LINK, "").startswith("#"):
        attributes[_LINK] = f"#{name}-{attributes[_LINK][1:]}"
    for key in ("clip-path", "style"):
        if "url(#" in attributes.get(key, ""):
            attributes[key] = attributes[key].replace("url(#", f"url(#{name}-")


def _restyle(element: ET.Element) -> None:
    """The page's font and colours; numbers no finer than a hundredth of a point."""
    attributes = element.attrib
    if "style" in attributes:
        style = _FAMILY.sub("", _FONT.sub(r"font-size: \g<size>", attributes["style"]))
        for colour, variable in _COLOURS.items():
            style = style.replace(colour, variable)
        attributes["style"] = style
    for key in ("d", "transform", "x", "y", "points"):
        if key in attributes:
            attributes[key] = _LONG_NUMBER.sub(r"\1", " ".join(attributes[key].split()))
