"""A new file, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agnn.errors import InputError


def check_output_file(path: Path | str) -> None:
    """Raise unless a new file can be made there; asked before the work, not after."""
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise InputError(f"the output file '{path}' exists already; choose another --out.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"the output file '{path}' cannot be made: '{folder}' is no folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"the output file '{path}' cannot be made: '{folder}' is not writable.")


def write_new_file(path: Path | str, content: bytes) -> None:
    """Write a file that is not there yet."""
    check_output_file(path)
    target = Path(path).absolute()
    handle, part = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(part).chmod(0o644)
        # Unlike a rename, a link refuses to replace a file that came into being meanwhile.
        os.link(part, target)
    finally:
        Path(part).unlink(missing_ok=True)
