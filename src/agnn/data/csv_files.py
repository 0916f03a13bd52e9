"""CSV and TSV, read by pyarrow in blocks, every cell as text; no row may be longer than a block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agnn.data.file_limits import ROW_LIMIT, check_text_file
from agnn.data.packages import tables_package
from agnn.errors import DataError

_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def csv_columns(path: Path) -> tuple[tuple[str, ...], str, str]:
    """The column names of a file, what stands between its cells, and a remark about that."""
    check_text_file(path)
    with path.open("rb") as stream:
        header = stream.readline(ROW_LIMIT)
    try:
        words = header.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not UTF-8 text: its header cannot be read.") from error
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    delimiter, note = usual, ""
    if usual not in words:
        found = [each for each in _WORDS if each in words]
        delimiter = found[0] if found else usual
        if found:
            note = f"The cells of '{path}' stand between {_WORDS[delimiter]}."
    with _in_words(path), _reader(path, delimiter) as reader:
        names = tuple(name.strip() for name in reader.schema.names)
    return names, delimiter, note


def csv_batches(path: Path, delimiter: str, columns: Sequence[str]) -> Iterator[Any]:
    """Frames of these columns as text, without the spaces around it; empty cells are ""."""
    compute = tables_package("pyarrow.compute")
    with _in_words(path):
        with _reader(path, delimiter) as reader:
            raw = reader.schema.names
        places = {name.strip(): name for name in raw}
        last, rows = None, 0
        with _reader(path, delimiter, [places[name] for name in columns]) as reader:
            for batch in reader:
                _check_cells(path, batch, rows)
                trimmed = [compute.utf8_trim_whitespace(column) for column in batch.columns]
                table = tables_package("pyarrow").table(trimmed, names=list(columns))
                last, rows = table.slice(max(len(table) - 1, 0)), rows + len(table)
                yield table.to_pandas()
        _check_quotes(path, last, rows)


def _reader(path: Path, delimiter: str, columns: Sequence[str] | None = None) -> Any:
    """A reader of the given columns as text; of all, with types as pyarrow guesses, for None."""
    csv, arrow = tables_package("pyarrow.csv"), tables_package("pyarrow")
    wanted = list(columns or ())
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=ROW_LIMIT, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, arrow.string()),
            strings_can_be_null=False,
            check_utf8=columns is not None,
        ),
    )


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Whatever pyarrow says of a broken file, as one line that names file and row."""
    arrow = tables_package("pyarrow")
    try:
        yield
    except arrow.ArrowInvalid as error:
        said = " ".join(str(error).split())
        if "straddling" in said:
            raise DataError(
                f"'{path}' has a row of more than {ROW_LIMIT // 2**20} MiB: a quote that is never "
                f"closed, or a cell that is no table's."
            ) from error
        if "UTF8" in said:
            raise DataError(f"'{path}' is not UTF-8 text: {_bad_text(path)}.") from error
        uneven = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said)
        if uneven:
            row, wanted, found = (int(number) for number in uneven.groups())
            raise DataError(
                f"'{path}', row {row - 1}: {found} cells where the header has {wanted}."
            ) from error
        raise DataError(f"'{path}' cannot be read as a table: {said[:120]}.") from error


def _bad_text(path: Path) -> str:
    """Where the first bytes are that are not UTF-8, in words."""
    with path.open("rb") as stream:
        for line, content in enumerate(iter(lambda: stream.readline(ROW_LIMIT), b""), start=0):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"row {line}, byte {error.start + 1} of the row is {content[error.start]:#x}"
    return "some bytes of it are not"


def _check_cells(path: Path, batch: Any, rows: int) -> None:
    """Raise for a cell that no table has; `rows` rows stand before the batch."""
    compute = tables_package("pyarrow.compute")
    if batch.nbytes <= ROW_LIMIT:
        return
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        long = compute.indices_nonzero(compute.greater(compute.binary_length(column), ROW_LIMIT))
        if len(long):
            raise DataError(
                f"'{path}', column '{name.strip()}', row {rows + long[0].as_py() + 1}: a cell has "
                f"more than {ROW_LIMIT // 2**20} MiB."
            )


def _check_quotes(path: Path, last: Any, rows: int) -> None:
    """Raise where the last row holds line ends and the file an odd number of quotes."""
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
