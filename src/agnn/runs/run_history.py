"""The epochs of a training, beside its weights in a run folder."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agnn.errors import DataError
from agnn.files import write_tensors
from agnn.training import History

if TYPE_CHECKING:
    from agnn.runs.saved_run import SavedRun

HISTORY: Final = "history.safetensors"


def write_history(history: History, folder: Path) -> None:
    """Write what was seen in every epoch; a field that the training has not is left out."""
    found = {field.name: getattr(history, field.name) for field in fields(history)}
    write_tensors({name: t for name, t in found.items() if t is not None}, folder / HISTORY)


def stored_history(saved: SavedRun) -> History | None:
    """The epochs of a saved run; None where it has none, or is older than this file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = saved.folder / HISTORY
    if not path.exists():
        return None
    try:
        return History(**load_file(path))
    except (SafetensorError, TypeError, OSError) as error:
        raise DataError(f"'{path}' is damaged: {error}") from error
