"""What may lie where a program expects a file: nothing in it, a pipe, a device, a folder."""

from __future__ import annotations

import os
import random
from pathlib import Path


def put_special_file(source: random.Random, path: Path) -> str:
    """Replace a file by something that is none; return what it is."""
    path.unlink(missing_ok=True)
    match source.randrange(5):
        case 0:
            os.mkfifo(path)
            return "a pipe"
        case 1:
            path.symlink_to("/dev/zero")
            return "an endless device"
        case 2:
            path.mkdir()
            return "a folder"
        case 3:
            path.symlink_to(path.name)
            return "a link to itself"
        case _:
            path.touch()
            return "an empty file"
