"""Files of a folder, compared with their checksums before anything looks inside."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from agnn.errors import DataError

_T = TypeVar("_T")


class RawFiles:
    """The files of a folder; those with a known SHA-256 must have it.

    `checksums` maps file names to hex digests. Where it is not given, a file SHA256SUMS in the
    folder takes its place, if there is one.
    """

    def __init__(self, folder: Path, checksums: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.checksums = listed_checksums(folder) if checksums is None else checksums

    def read(self, name: str, parse: Callable[[bytes], _T]) -> _T:
        """What `parse` makes of the file's bytes; every error names the file."""
        path = self.folder / name
        content = _content(path)
        expected = self.checksums.get(name)
        found = hashlib.sha256(content).hexdigest()
        if expected is not None and expected.lower() != found:
            raise DataError(f"'{path}' has SHA-256 {found}, expected {expected}; fetch it again.")
        try:
            return parse(content)
        except DataError as error:
            raise DataError(f"'{path}' {error}") from error


def listed_checksums(folder: Path) -> dict[str, str]:
    """Digest by file name from the folder's SHA256SUMS, as `sha256sum` writes it."""
    path = folder / "SHA256SUMS"
    if not path.exists():
        return {}
    checksums = {}
    for line in _content(path).decode("utf-8", errors="replace").splitlines():
        match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)", line)
        if match is None:
            raise DataError(f"'{path}' must hold lines 'sha256  name'; got '{line[:80]}'.")
        checksums[match[2]] = match[1]
    return checksums


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}.") from error
