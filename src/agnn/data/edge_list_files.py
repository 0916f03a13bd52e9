"""Edge lists: two ids a line with spaces between them, no header, "#" before remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from agnn.data.file_limits import ROW_LIMIT, check_text_file
from agnn.data.packages import tables_package
from agnn.errors import DataError

_NAMES: Final = ("source", "target", "weight")
_BATCH: Final = 1_000_000  # rows


def edge_list_columns(path: Path) -> tuple[str, ...]:
    """Source and target, and weight where the first line has three words."""
    check_text_file(path)
    _check_lines(path)
    count = len(next(_frames(path)).columns)
    if not 2 <= count <= 3:
        raise DataError(
            f"'{path}', row 1: an edge list has two ids a line, or three with a weight; got "
            f"{count} words."
        )
    return _NAMES[:count]


def edge_list_batches(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Frames of these columns as text."""
    for frame in _frames(path):
        named = frame.set_axis(list(_NAMES[: len(frame.columns)]), axis=1)
        yield named[list(columns)]


def _frames(path: Path) -> Iterator[Any]:
    pandas = tables_package("pandas")
    try:
        yield from pandas.read_csv(
            path,
            sep=r"\s+",
            header=None,
            comment="#",
            dtype=str,
            na_filter=False,
            compression=None,
            chunksize=_BATCH,
        )
    except pandas.errors.EmptyDataError as error:
        raise DataError(f"'{path}' has no rows.") from error
    except (pandas.errors.ParserError, UnicodeDecodeError) as error:
        said = " ".join(str(error).split())
        raise DataError(f"'{path}' cannot be read as an edge list: {said[:120]}.") from error


def _check_lines(path: Path) -> None:
    """Raise for a line that would fill memory before anybody looks at it."""
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(ROW_LIMIT), b""):
            if len(block) == ROW_LIMIT and b"\n" not in block:
                raise DataError(f"'{path}' has a line of more than {ROW_LIMIT // 2**20} MiB.")
