"""What is asked of a file before anybody reads it: there, plain, and no larger than memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from agnn.errors import DataError, InputError

ROW_LIMIT: Final = 16 * 2**20
"""Bytes that one row of a table may have: a longer one is a missing quote, or an attack."""

# The first bytes of what a few kilobytes can blow up to anything from.
_COMPRESSED: Final = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}


def check_file(path: Path) -> None:
    """Raise unless `path` is a file with something in it that can be read."""
    if path.is_dir():
        raise InputError(f"'{path}' is a folder; give a file.")
    try:
        with path.open("rb") as stream:
            if not stream.read(1):
                raise DataError(f"'{path}' is empty.")
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}.") from error


def check_text_file(path: Path) -> None:
    """`check_file`, and that the file is not compressed and fits memory."""
    check_file(path)
    with path.open("rb") as stream:
        start = stream.read(8)
    for magic, kind in _COMPRESSED.items():
        if start.startswith(magic):
            raise DataError(f"'{path}' is compressed ({kind}); unpack it first.")
    check_fits(path, path.stat().st_size)


def check_fits(path: Path, size: int) -> None:
    """Raise where `size` bytes of content are more than this machine could hold."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise DataError(
            f"'{path}' unpacks to {size / 2**30:,.1f} GiB, and this machine has "
            f"{memory / 2**30:,.1f} GiB of memory; it is not opened."
        )
