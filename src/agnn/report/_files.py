"""Reports as files: the folder of `agnn demo`, and an experiment's pages and figures."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agnn.errors import InputError
from agnn.files import check_new_folder, write_file
from agnn.report._rendering import png, svg
from agnn.report._style import figure_style

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.figure import Figure

FIGURES: Final = "figures"
_MARKER: Final = "demo.json"
_MADE_BY: Final = "agnn demo"


def check_demo_folder(folder: Path) -> None:
    """Raise unless the demo may write there: a new folder, or one that holds only its own files."""
    if not folder.exists() and not folder.is_symlink():
        check_new_folder(folder)
        return
    known = _marked_files(folder)
    if known is None:
        raise InputError(
            f"'{folder}' exists and was not made by `agnn demo`; choose another --out."
        )
    foreign = sorted(_files(folder) - known)
    if foreign:
        raise InputError(
            f"'{folder}' also holds '{foreign[0]}', which `agnn demo` did not write and will not "
            f"delete; move it away or choose another --out."
        )
    if not os.access(folder.absolute().parent, os.W_OK | os.X_OK):
        raise InputError(f"'{folder}' cannot be replaced: its parent folder is not writable.")


@contextmanager
def demo_folder(folder: Path) -> Iterator[Path]:
    """A draft to write to, which replaces `folder` at the end and is deleted after an error.

    Until the end an earlier demo in `folder` stays as it is.
    """
    check_demo_folder(folder)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        draft = work / "new"
        draft.mkdir()
        yield draft
        marker = {"made_by": _MADE_BY, "files": sorted({*_files(draft), _MARKER})}
        (draft / _MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")
        _put_in_place(draft, folder, work / "old")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path, aside: Path) -> None:
    if folder.exists():
        folder.rename(aside)
    try:
        draft.rename(folder)
    except BaseException:
        if aside.exists():
            aside.rename(folder)
        raise


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _marked_files(folder: Path) -> set[str] | None:
    """The files that the demo wrote, by its own list; None for a folder that it did not make."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    try:
        marker = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        return set(marker["files"]) if marker["made_by"] == _MADE_BY else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file at once: a reader sees the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content, replace=True)


def write_report(folder: Path, name: str, markdown: str, html: str, values: Any) -> list[Path]:
    """NAME.md, NAME.html and NAME.json in `folder`."""
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
    """The figures of `run_figures` in a new folder, each as SVG and PNG in the same style."""
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
    """The stems of the figures that were drawn under this mark (or any); none where not all are."""
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
