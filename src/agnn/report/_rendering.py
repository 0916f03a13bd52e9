"""Templates of pages, the colours of figures, and figures as SVG and PNG and as part of a page.

The same figure gives the same bytes. A picture in an `<img>` keeps its own colours; an SVG inside
the page can be dark where the page is, and its text is found by the page's search.
"""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import jinja2
from markupsafe import Markup, escape

from agnn.files import write_file
from agnn.palette import AGAINST, FOR, NEITHER, PAGE, page_style
from agnn.tables import number, share_text, shown_text, signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK: Final = PAGE["figure-ink"].light  # the main data
MARK: Final = "#d55e00"  # what to look at
FAINT: Final = PAGE["figure-faint"].light  # what lies behind
WORDS: Final = PAGE["ink"].light  # text, axes and outlines
GRID: Final = "#e0e0e0"
EDGE: Final = "#9a9a9a"  # lines of a graph
EMPTY: Final = "#e8e8e8"  # a cell without a value
SIGN_INK: Final = "#fffffd"  # of numbers on the colours for and against; white, by its own name
HOLLOW: Final = "#fffffc"  # inside of an empty mark
PAPER: Final = "#fffffe"  # the ground; not quite white, which is also a colour of text
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
_DOTS_PER_INCH: Final = 160
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_LINK: Final = f"{{{_XLINK}}}href"
_POINT: Final = 4 / 3  # pixels
_COLOURS: Final = {
    INK: "var(--figure-ink)",
    FAINT: "var(--figure-faint)",
    GRID: "var(--rule)",
    FOR.light: "var(--for)",
    AGAINST.light: "var(--against)",
    NEITHER.light: "var(--neutral)",
    SIGN_INK: "var(--for-ink)",
    HOLLOW: "var(--surface)",
    PAPER: "none",
    WORDS: "currentColor",
}
_LONG_NUMBER: Final = re.compile(r"(\d+\.\d\d)\d+")
# matplotlib writes all of a font in one property, or its family in one of its own.
_FONT: Final = re.compile(r"font: (?:[a-z]+ )*?(?P<size>[\d.]+px) [^;]*")
_FAMILY: Final = re.compile(r"font-family: [^;]*;? ?")
_CODE: Final = re.compile("`([^`]+)`")
_COMMAND: Final = re.compile(r"^((?:better|threshold): )(.+)$")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# What XML cannot hold, not even as a reference.
_FORBIDDEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def page_template(name: str) -> jinja2.Template:
    """Return a template; what it prints is escaped, and nothing may be missing."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("agnn.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        palette=Markup(page_style()),  # noqa: S704 (our own)
        for_colour=f"var(--for, {FOR.light})",  # a notebook's page has no such variables
        against_colour=f"var(--against, {AGAINST.light})",
    )
    environment.filters.update(
        signed=signed_number,
        percent=share_text,
        number=number,
        shown=shown_text,
        prose=_prose,
        data_address=_data_address,
        quoted=shlex.quote,
    )
    return environment.get_template(name)


def _prose(text: str) -> Markup:
    """Return a sentence with its commands as code; a unit and an option are not broken off."""
    html = str(escape(text)).replace(" %", "\u00a0%")
    html = _COMMAND.sub(r"\1<code>\2</code>", _CODE.sub(r"<code>\1</code>", html))
    return Markup(_OPTION.sub(r'<span class="whole">\g<0></span>', html))  # noqa: S704 (escaped)


def _data_address(svg: str) -> str:
    """Return the image as an address that holds all of it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


class PageFigure(NamedTuple):
    """A drawing and its caption."""

    svg: str
    caption: str  # also read by screen readers


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, whose parts do not overlap."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def clear_axes(axes: Axes, lines: Literal["x", "y"]) -> None:
    """Leave out the frame, and draw faint lines behind the data at the ticks of one axis."""
    axes.spines[["top", "right", *(["left"] if lines == "x" else [])]].set_visible(False)
    axes.grid(axis=lines, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def figure_style() -> AbstractContextManager[None]:
    """Return the style, to be active while figures are made and while they are rendered.

    Ticks are created when a figure is rendered, so both need it.
    """
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def svg(figure: Figure) -> str:
    """Return the figure as SVG, with its words as text."""
    import matplotlib

    buffer = io.StringIO()
    # Text stays text, so that it can be searched; ids and dates do not change from run to run.
    with matplotlib.rc_context({"svg.hashsalt": "agnn", "svg.fonttype": "none"}), _any_script():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", buffer.getvalue())


@contextmanager
def _any_script() -> Iterator[None]:
    """Ignore characters that matplotlib's font lacks: the reader's program has others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield


def png(figure: Figure) -> bytes:
    """Return the figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DOTS_PER_INCH)
    return buffer.getvalue()


def inline_svg(figure: Figure, name: str, label: str) -> Markup:
    """Return the figure as an `<svg>`; `name` is unique on the page, `label` describes it."""
    return inline_drawing(svg(figure), name, label)


def inline_drawing(drawing: str, name: str, label: str) -> Markup:
    """Return the same from a figure that was rendered before.

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
    root.attrib.update({"role": "img", "aria-label": label, "style": f"--width: {width:.0f}px"})
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
    """Give it the page's font and colours; numbers no finer than a hundredth of a point."""
    attributes = element.attrib
    if "style" in attributes:
        style = _FAMILY.sub("", _FONT.sub(r"font-size: \g<size>", attributes["style"]))
        for colour, variable in _COLOURS.items():
            style = style.replace(colour, variable)
        attributes["style"] = style
    for key in ("d", "transform", "x", "y", "points"):
        if key in attributes:
            attributes[key] = _LONG_NUMBER.sub(r"\1", " ".join(attributes[key].split()))


FIGURES: Final = "figures"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file at once: a reader sees the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content, replace=True)


def write_report(folder: Path, name: str, markdown: str, html: str, values: Any) -> list[Path]:
    """Write NAME.md, NAME.html and NAME.json in `folder`."""
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    files = {f"{name}.md": markdown, f"{name}.html": html, f"{name}.json": text}
    for file, content in files.items():
        write_whole(folder / file, content)
    return [folder / file for file in files]


def write_figures(
    folder: Path,
    name: str,
    mark: str,
    figures: Mapping[str, Figure],
    values: Mapping[str, Any] | None = None,
) -> None:
    """Write each figure as PNG and SVG below `folder`, and last the mark of a complete set.

    `values` are what was measured for the figures, by their stems; they are kept with the mark.
    """
    for stem, figure in figures.items():
        write_whole(folder / FIGURES / f"{stem}.svg", svg(figure))
        write_whole(folder / FIGURES / f"{stem}.png", png(figure))
    marker = {"hash": mark, "figures": list(figures), **({"values": values} if values else {})}
    write_whole(folder / FIGURES / f"{name}.json", json.dumps(marker) + "\n")


def write_run_figures(folder: Path, figures: Mapping[str, tuple[Figure, str]]) -> None:
    """Write the figures of `run_figures` to a new folder, each as SVG and PNG in the same style."""
    folder.mkdir()
    with figure_style():
        for name, (figure, _) in figures.items():
            (folder / f"{name}.svg").write_text(svg(figure), encoding="utf-8")
            (folder / f"{name}.png").write_bytes(png(figure))


def adopt_figures(source: Path, folder: Path, name: str, mark: str) -> None:
    """Copy the figures that were drawn below `source` under this mark; nothing if there are none.

    `folder` gets them in its own folder of figures, with the mark.
    """
    stems = drawn_figures(source, name, mark)
    files = [f"{stem}.{end}" for stem in stems for end in ("svg", "png")]
    for file in [*files, f"{name}.json"] if stems else []:
        write_whole(folder / FIGURES / file, (source / FIGURES / file).read_bytes())


def drawn_figures(folder: Path, name: str, mark: str | None = None) -> list[str]:
    """Return the stems of the figures drawn under this mark (or any); none if any is missing."""
    try:
        marker = json.loads((folder / FIGURES / f"{name}.json").read_text(encoding="utf-8"))
        stems = [str(stem) for stem in marker["figures"]]
        is_current = mark is None or marker["hash"] == mark
    except (OSError, ValueError, KeyError, TypeError):
        return []
    files = [folder / FIGURES / f"{stem}.{end}" for stem in stems for end in ("svg", "png")]
    return stems if is_current and all(file.is_file() for file in files) else []


def drawn_values(folder: Path, name: str) -> dict[str, Any]:
    """Return what was measured for the figures that were drawn, by their stems."""
    if not drawn_figures(folder, name):
        return {}
    marker = json.loads((folder / FIGURES / f"{name}.json").read_text(encoding="utf-8"))
    return dict(marker.get("values", {}))
