"""Checks of an input file before it is read: it exists, is a plain file and fits in memory."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Final

from agnn.errors import DataError, InputError

CSV_FILES: Final = (".csv", ".tsv", ".tab", ".txt")
PARQUET_FILES: Final = (".parquet", ".pq")
EDGE_LIST_FILES: Final = (".edgelist", ".edges")
TABLE_FILES: Final = (*CSV_FILES, *PARQUET_FILES, *EDGE_LIST_FILES)
"""Endings of files that hold a table."""

# What a damaged archive makes NumPy and SciPy raise.
DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    NotImplementedError,
    RuntimeError,  # also of a text that is nested too deep
    MemoryError,
)

ROW_LIMIT: Final = 16 * 2**20
"""Bytes in one row of a table: a longer one is a missing quote, or an attack."""

COLUMN_LIMIT: Final = 50_000
"""Columns of a table: each takes memory several times that of its cells."""

# The first bytes of formats in which a few kilobytes can expand to any size.
_COMPRESSED: Final = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}
_SPECIAL: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def local_file(path: str | Path) -> Path:
    """Return the path of a file on this machine; an address such as s3://... is refused."""
    if "://" in str(path):
        raise InputError(f"'{path}' is an address; agnn reads files of this machine: download it.")
    return Path(path)


def check_file(path: Path) -> None:
    """Raise unless `path` is a plain, readable file with content."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"'{path}' is a folder; give a file.")
        # Opening a named pipe would wait for a writer, and a device may never end.
        for is_kind, kind in _SPECIAL:
            if is_kind(mode):
                raise InputError(f"'{path}' is {kind}; give a plain file.")
        with path.open("rb") as stream:
            if not stream.read(1):
                raise DataError(f"'{path}' is empty.")
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}.") from error
    except ValueError as error:  # a path with a zero byte in it
        if isinstance(error, InputError | DataError):
            raise
        raise InputError(f"cannot read {str(path)!r}: {error}.") from error


def check_text_file(path: Path, *, is_streamed: bool = False) -> None:
    """Raise unless `check_file` passes, and the file is plain text that fits, unless streamed."""
    check_file(path)
    with path.open("rb") as stream:
        start = stream.read(8)
    for magic, kind in _COMPRESSED.items():
        if start.startswith(magic):
            raise DataError(f"'{path}' is compressed ({kind}); unpack it first.")
    if not is_streamed:
        check_fits(path, path.stat().st_size)


def check_fits(path: Path, size: int) -> None:
    """Raise if `size` bytes of content are more than this machine's memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise DataError(
            f"'{path}' unpacks to {size / 2**30:,.1f} GiB, and this machine has "
            f"{memory / 2**30:,.1f} GiB of memory; it is not opened."
        )


def check_width(place: str, columns: int) -> None:
    """Raise for a table with more columns than `COLUMN_LIMIT`."""
    if columns > COLUMN_LIMIT:
        raise DataError(
            f"{place} has {columns:,} columns; a table may have at most {COLUMN_LIMIT:,}. Give "
            f"wide features as a sparse matrix: an .npz file, or `from_scipy`."
        )
