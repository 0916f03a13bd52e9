"""Reports as files: pages, and figures with the mark under which they were drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from agnn.files import write_file
from agnn.report._rendering import figure_style, png, svg

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

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
