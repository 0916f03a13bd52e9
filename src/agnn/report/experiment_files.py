"""Reports as files: each experiment's Markdown, HTML and JSON, and its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agnn.files import write_file
from agnn.report.rendering import png, svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

FIGURES = "figures"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file all at once: whoever reads it meanwhile sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content, replace=True)


def write_report(folder: Path, name: str, markdown: str, html: str, values: Any) -> list[Path]:
    """NAME.md, NAME.html and NAME.json in `folder`."""
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    files = {f"{name}.md": markdown, f"{name}.html": html, f"{name}.json": text}
    for file, content in files.items():
        write_whole(folder / file, content)
    return [folder / file for file in files]


def write_figures(folder: Path, name: str, mark: str, figures: Mapping[str, Figure]) -> None:
    """Each figure as PNG and SVG below `folder`, and last the mark that says they are all there."""
    for stem, figure in figures.items():
        write_whole(folder / FIGURES / f"{stem}.svg", svg(figure))
        write_whole(folder / FIGURES / f"{stem}.png", png(figure))
    marker = {"hash": mark, "figures": list(figures)}
    write_whole(folder / FIGURES / f"{name}.json", json.dumps(marker) + "\n")


def adopt_figures(source: Path, folder: Path, name: str, mark: str) -> None:
    """Copy the figures that were drawn below `source` under this mark; nothing if there are none.

    `folder` gets them in its own folder of figures, with the mark.
    """
    stems = drawn_figures(source, name, mark)
    files = [f"{stem}.{end}" for stem in stems for end in ("svg", "png")]
    for file in [*files, f"{name}.json"] if stems else []:
        write_whole(folder / FIGURES / file, (source / FIGURES / file).read_bytes())


def drawn_figures(folder: Path, name: str, mark: str | None = None) -> list[str]:
    """The stems of the figures that were drawn under this mark (or any); none where not all are."""
    try:
        marker = json.loads((folder / FIGURES / f"{name}.json").read_text(encoding="utf-8"))
        stems = [str(stem) for stem in marker["figures"]]
        is_current = mark is None or marker["hash"] == mark
    except (OSError, ValueError, KeyError, TypeError):
        return []
    files = [folder / FIGURES / f"{stem}.{end}" for stem in stems for end in ("svg", "png")]
    return stems if is_current and all(file.is_file() for file in files) else []
