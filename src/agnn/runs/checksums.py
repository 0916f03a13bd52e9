"""SHA-256 of the files in a folder and of its config, so that a changed one is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agnn.errors import DataError
from agnn.files import checksum

KEY = "sha256"


def with_checksums(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The config with the checksums of all files that lie in the folder, and its own."""
    files = {file.name: checksum(file) for file in sorted(folder.iterdir())}
    return {**config, KEY: {"config": _own(config), "files": files}}


def check_checksums(config: Mapping[str, Any], folder: Path) -> None:
    """Raise unless config and files are as they were written; older folders have no checksums."""
    if KEY not in config:
        return
    stored = config[KEY]
    if stored["config"] != _own({name: each for name, each in config.items() if name != KEY}):
        raise DataError("config.json was changed after it was written")
    for name, expected in stored["files"].items():
        if Path(name).name != name:
            raise DataError(f"it names a file outside the folder, '{name}'")
        if checksum(folder / name) != expected:
            raise DataError(f"{name} was changed after it was written")


def _own(config: Mapping[str, Any]) -> str:
    # Through JSON once: what is read back has lists where tuples were written.
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
