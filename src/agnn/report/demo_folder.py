"""The folder that `agnn demo` writes: replaced by the next run, never mistaken for another's."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.files import check_new_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKER = "demo.json"
_MADE_BY = "agnn demo"


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
    """A draft to write to, which takes the place of `folder` at the end; after an error it is gone.

    Until the end an earlier demo in `folder` stays as it is.
    """
    check_demo_folder(folder)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        draft = work / "new"
        draft.mkdir()
        yield draft
        marker = {"made_by": _MADE_BY, "files": sorted({*_files(draft), MARKER})}
        (draft / MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")
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
    """The files that the demo says it wrote; None for a folder that it did not make."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return set(marker["files"]) if marker["made_by"] == _MADE_BY else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
