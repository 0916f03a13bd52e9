"""Tables in text files: CSV and TSV, and edge lists.

Every cell is read as text, in blocks; no row may be longer than a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from agnn.data._input_files import ROW_LIMIT, check_text_file, check_width
from agnn.errors import DataError

_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_EDGE_COLUMNS: Final = ("source", "target", "weight")
_EDGE_BATCH: Final = 1_000_000  # rows
# Bytes of a block of a table that may be larger than memory: pyarrow reads 32 blocks ahead.
_STREAMED: Final = 2 * 2**20


def csv_columns(path: Path, *, is_streamed: bool = False) -> tuple[tuple[str, ...], str, str]:
    """Return the column names of a file, the delimiter of its cells, and a remark about that."""
    check_text_file(path, is_streamed=is_streamed)
    with path.open("rb") as stream:
        header = stream.readline(ROW_LIMIT)
    try:
        text = header.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not UTF-8 text: its header cannot be read.") from error
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    delimiter = usual
    note = ""
    delimiters = [mark for mark in _DELIMITERS if mark in text]
    if usual not in text and delimiters:
        delimiter = delimiters[0]
        note = f"The cells of '{path}' are separated by {_DELIMITERS[delimiter]}."
    check_width(f"'{path}'", text.count(delimiter) + 1)  # before pyarrow allocates each
    block = _STREAMED if is_streamed else ROW_LIMIT
    with _readable_errors(path, block), _reader(path, delimiter, block) as reader:
        names = tuple(name.strip() for name in reader.schema.names)
    return names, delimiter, note


def csv_batches(
    path: Path, delimiter: str, columns: Sequence[str], *, is_streamed: bool = False
) -> Iterator[pd.DataFrame]:
    """Yield frames of these columns as text, without surrounding spaces; empty cells are ""."""
    block = _STREAMED if is_streamed else ROW_LIMIT
    with _readable_errors(path, block):
        with _reader(path, delimiter, block) as reader:
            written_names = {name.strip(): name for name in reader.schema.names}
        last = None
        rows = 0
        with _reader(path, delimiter, block, [written_names[name] for name in columns]) as reader:
            for batch in reader:
                _check_cells(path, batch, rows)
                trimmed = [pc.utf8_trim_whitespace(column) for column in batch.columns]
                table = pa.table(trimmed, names=list(columns))
                last = table.slice(max(len(table) - 1, 0))
                rows += len(table)
                yield table.to_pandas()
        _check_quotes(path, last, rows)


def edge_list_columns(path: Path, *, is_streamed: bool = False) -> tuple[str, ...]:
    """Return source and target, and weight if the first line has three words."""
    check_text_file(path, is_streamed=is_streamed)
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(ROW_LIMIT), b""):
            if len(block) == ROW_LIMIT and b"\n" not in block:
                raise DataError(f"'{path}' has a line of more than {ROW_LIMIT // 2**20} MiB.")
    count = len(next(_edge_frames(path)).columns)
    if not 2 <= count <= 3:
        raise DataError(
            f"'{path}', row 1: an edge list has two ids per line, or three words with a weight; "
            f"got {count}."
        )
    return _EDGE_COLUMNS[:count]


def edge_list_batches(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield frames of these columns as text."""
    for frame in _edge_frames(path):
        named = frame.set_axis(list(_EDGE_COLUMNS[: len(frame.columns)]), axis=1)
        yield named[list(columns)]


def _edge_frames(path: Path) -> Iterator[pd.DataFrame]:
    try:
        yield from pd.read_csv(
            path,
            sep=r"\s+",
            header=None,
            comment="#",
            dtype=str,
            na_filter=False,
            compression=None,
            chunksize=_EDGE_BATCH,
        )
    except pd.errors.EmptyDataError as error:
        raise DataError(f"'{path}' has no rows.") from error
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"'{path}' cannot be read as an edge list: {reason[:120]}.") from error


def _reader(path: Path, delimiter: str, block: int, columns: Sequence[str] | None = None) -> Any:
    """Return a reader of some columns as text; None: of all, with the types pyarrow guesses."""
    names = list(columns or ())
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=block, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=names,
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=False,
            check_utf8=columns is not None,
        ),
    )


@contextmanager
def _readable_errors(path: Path, block: int) -> Iterator[None]:
    """Turn what pyarrow reports of a broken file into one line that names file and row."""
    try:
        yield
    except pa.ArrowInvalid as error:
        reason = " ".join(str(error).split())
        if "straddling" in reason:
            raise DataError(
                f"'{path}' has a row of more than {block // 2**20} MiB: a quote that is never "
                f"closed, or content that is not a table."
            ) from error
        if "UTF8" in reason:
            raise DataError(f"'{path}' is not UTF-8 text: {_bad_bytes(path)}.") from error
        uneven = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", reason)
        if uneven:
            row, expected, present = (int(number) for number in uneven.groups())
            raise DataError(
                f"'{path}', row {row - 1}: {present} cells where the header has {expected}."
            ) from error
        raise DataError(f"'{path}' cannot be read as a table: {reason[:120]}.") from error


def _bad_bytes(path: Path) -> str:
    """Return the place of the first bytes that are not UTF-8, as text."""
    with path.open("rb") as stream:
        # The header is line 0, so that lines are counted as rows are.
        for line, content in enumerate(iter(lambda: stream.readline(ROW_LIMIT), b"")):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"row {line}, byte {error.start + 1} of the row is {content[error.start]:#x}"
    return "some bytes of it are not"


def _check_cells(path: Path, batch: Any, rows: int) -> None:
    """Raise for a cell that is too long; `rows` rows come before the batch."""
    if batch.nbytes <= ROW_LIMIT:
        return
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        long = pc.indices_nonzero(pc.greater(pc.binary_length(column), ROW_LIMIT))
        if len(long):
            raise DataError(
                f"'{path}', column '{name.strip()}', row {rows + long[0].as_py() + 1}: a cell has "
                f"more than {ROW_LIMIT // 2**20} MiB."
            )


def _check_quotes(path: Path, last: Any, rows: int) -> None:
    """Raise if the last row holds line ends and the file an odd number of quotes."""
    cells = {} if last is None else last.to_pydict()
    open_ended = [name for name, values in cells.items() if values and "\n" in values[0]]
    if not open_ended:
        return
    with path.open("rb") as stream:
        quotes = sum(block.count(b'"') for block in iter(lambda: stream.read(ROW_LIMIT), b""))
    if quotes % 2:
        raise DataError(
            f"'{path}', column '{open_ended[0]}', row {rows}: a quote is opened and never closed."
        )
