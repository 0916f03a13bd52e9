"""Tables that are read column by column and batch by batch, from files or frames."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from json import JSONDecodeError  # of the description that pandas adds
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from agnn.data._input_files import (
    CSV_FILES,
    EDGE_LIST_FILES,
    PARQUET_FILES,
    ROW_LIMIT,
    check_file,
    check_fits,
    check_width,
    local_file,
)
from agnn.data.tables._text_files import (
    csv_batches,
    csv_columns,
    edge_list_batches,
    edge_list_columns,
)
from agnn.errors import DataError, InputError, import_extra

_SQLITE: Final = b"SQLite format 3\x00"
_DUCKDB: Final = b"DUCK"  # after a checksum of 8 bytes


_READING: Final = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
# What SQLite itself does to open a table such as json_each or a full-text index; nothing is
# written, since the file is open for reading only.
_OPENING: Final = frozenset(
    {(sqlite3.SQLITE_UPDATE, "sqlite_master"), (sqlite3.SQLITE_PRAGMA, "data_version")}
)
_STEPS: Final = 1_000_000  # of SQLite's machine, some hundredths of a second


def open_source(table: Any, kind: str, database: str | Path | None) -> TableSource:
    """Return a file, a query where there is a database, or a frame."""
    if not isinstance(table, str | Path):
        return frame_table(table, f"`{kind}`")
    if database is not None:
        return _open_query(str(table), database, kind)
    return open_table(table)


def _open_query(query: str, database: str | Path, kind: str) -> TableSource:
    """Return the rows of one query, which can read this file and do nothing else.

    A query may come with a configuration file from somebody else. `kind` names the table in
    messages: "nodes" or "edges". There is no bound on its time, for a large table takes what it
    takes; Ctrl-C ends it.
    """
    file = local_file(database)
    check_file(file)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the query for the {kind} in '{file}' is not valid text.") from error
    with file.open("rb") as stream:
        head = stream.read(16)
    if head == _SQLITE:
        frame = _from_sqlite(query, file, kind)
    elif head[8:12] == _DUCKDB:
        frame = _from_duckdb(query, file, kind)
    else:
        raise InputError(f"'{file}' is neither a SQLite nor a DuckDB database.")
    if frame.empty:
        raise DataError(f"the query for the {kind} in '{file}' gives no rows.")
    return frame_table(frame, f"the query for the {kind} in '{file}'")


def _from_sqlite(query: str, file: Path, kind: str) -> pd.DataFrame:
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.set_authorizer(_permission)
            connection.set_progress_handler(_let_signals_in, _STEPS)
            rows = connection.execute(query)
            if rows.description is None:
                raise InputError(_not_a_query(kind, file))
            return pd.DataFrame(rows.fetchall(), columns=_names(rows.description, kind))
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        if "authoriz" in str(error):  # the code is not always that of a refusal
            raise InputError(_not_a_query(kind, file)) from error
        raise DataError(_failure(kind, file, error)) from error


def _permission(action: int, subject: str | None, *_: str | None) -> int:
    is_harmless = action in _READING or (action, subject) in _OPENING
    return sqlite3.SQLITE_OK if is_harmless else sqlite3.SQLITE_DENY


def _let_signals_in() -> int:
    """Do nothing: Python handles Ctrl-C before it calls this, and SQLite then stops."""
    return 0


def _from_duckdb(query: str, file: Path, kind: str) -> pd.DataFrame:
    duckdb = import_extra("duckdb", f"'{file}' is read with it", "agnn[large]")
    # The query reads this file and no other. A log that it would switch on ends the process.
    only = {"enable_external_access": "false", "lock_configuration": "true"}
    try:
        with duckdb.connect(str(file), read_only=True, config=only) as connection:
            statements = connection.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise InputError(_not_a_query(kind, file))
            # In a thread: one that works for DuckDB hears of Ctrl-C now and then only.
            with ThreadPoolExecutor(1) as pool:
                result = pool.submit(_duckdb_rows, connection, statements[0])
                try:
                    names, frame = result.result()
                except KeyboardInterrupt:
                    while not wait([result], timeout=0.1).done:  # it may not have begun
                        connection.interrupt()
                    raise
            return frame.set_axis(_names(names, kind), axis=1)
    except duckdb.Error as error:
        raise DataError(_failure(kind, file, error)) from error


def _duckdb_rows(connection: Any, statement: Any) -> tuple[Any, pd.DataFrame]:
    rows = connection.execute(statement)
    return rows.description or (), rows.df()


def _names(description: Any, kind: str) -> list[str]:
    names = [str(column[0]) for column in description]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the query for the {kind} gives two columns called '{name}'.")
    return names


def _not_a_query(kind: str, file: Path) -> str:
    return f"the query for the {kind} in '{file}' must be one SELECT, which reads and nothing else."


def _failure(kind: str, file: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())
    return f"the query for the {kind} in '{file}' fails: {reason[:300].rstrip('.')}."


_BATCH: Final = 4_000_000  # rows; ids are looked up per batch, which has a cost of its own
_STREAMED: Final = 500_000  # rows of a table that may be larger than memory
_CELLS: Final = 32_000_000  # of a batch: wide tables have fewer rows at once


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSource:
    """A table of the user's: its name for messages, its columns, and how to read them."""

    place: str
    """As messages name it, such as "'nodes.csv'"."""

    columns: tuple[str, ...]
    batches: Callable[[Sequence[str]], Iterator[pd.DataFrame]]
    """From column names to frames with these columns, in the order of the rows."""

    is_untyped: bool = False
    """Whether every cell is text, as in CSV: numbers have to be recognised."""

    may_be_empty: bool = False
    """Whether it may have no rows: a graph may have no edges, but a file of edges has some."""

    has_decimal_commas: bool = False
    """Whether 17,5 is a number, as where cells are separated by semicolons."""

    note: str = ""
    """A remark from opening it."""

    def __post_init__(self) -> None:
        check_width(self.place, len(self.columns))
        for name, count in Counter(self.columns).items():
            if count > 1:
                raise DataError(
                    f"{self.place} has two columns called '{name}'; rename one of them."
                )

    def frame(self, columns: Sequence[str]) -> pd.DataFrame:
        """Return these columns of the whole table."""
        parts = list(self.batches(columns))
        table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
        if not len(table):
            raise DataError(f"{self.place} has no rows.")
        return table


def open_table(path: str | Path, *, is_streamed: bool = False) -> TableSource:
    """Return the table in a CSV, TSV, Parquet or edge list file, by the ending of its name.

    One that is streamed, batch by batch, may be larger than memory.
    """
    file = local_file(path)
    check_file(file)
    end = file.suffix.lower()
    place = f"'{file}'"
    if end in CSV_FILES:
        names, delimiter, note = csv_columns(file, is_streamed=is_streamed)
        return TableSource(
            place=place,
            columns=names,
            batches=lambda names: csv_batches(file, delimiter, names, is_streamed=is_streamed),
            is_untyped=True,
            has_decimal_commas=delimiter == ";",
            note=note,
        )
    if end in PARQUET_FILES:
        return TableSource(
            place=place,
            columns=_parquet_columns(file, is_streamed=is_streamed),
            batches=lambda names: _parquet_batches(
                file, names, _STREAMED if is_streamed else _BATCH
            ),
        )
    if end in EDGE_LIST_FILES:
        return TableSource(
            place=place,
            columns=edge_list_columns(file, is_streamed=is_streamed),
            batches=lambda names: edge_list_batches(file, names),
            is_untyped=True,
        )
    raise InputError(
        f"'{file}' is not a table that agnn reads: its name must end in "
        f"{', '.join((*CSV_FILES, *PARQUET_FILES))}, or for edges in "
        f"{' or '.join(EDGE_LIST_FILES)}."
    )


_INDEX: Final = "__index_level_"  # begins the columns in which pandas keeps row labels in Arrow


def frame_table(frame: Any, place: str) -> TableSource:
    """Return a table in memory as a source: a pandas frame, or anything that Arrow can read.

    That is what has `__arrow_c_stream__`: frames of Polars, tables of PyArrow, relations of DuckDB.
    """
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        named = frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)
        return TableSource(
            place=place,
            columns=tuple(named.columns),
            batches=lambda names: iter([named[list(names)]]),
        )
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InputError(
            f"{place} must be a data frame of pandas or Polars, or another table that Arrow can "
            f"read; got {type(frame).__name__}."
        )
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{place} cannot be read by Arrow: {reason[:300].rstrip('.')}.") from error
    return TableSource(
        place=place,
        columns=tuple(name for name in table.column_names if not name.startswith(_INDEX)),
        batches=lambda names: iter([_frame(table.select(list(names)).replace_schema_metadata())]),
    )


def _parquet_columns(path: Path, *, is_streamed: bool) -> tuple[str, ...]:
    """Return the column names of a file; unless it is streamed, its content must fit in memory."""
    with _readable_errors(path), parquet.ParquetFile(path) as file:
        meta = file.metadata
        check_width(f"'{path}'", meta.num_columns)
        groups = [meta.row_group(k) for k in range(meta.num_row_groups)]
        stored = sum(group.total_byte_size for group in groups)
        # One repeated value takes no space on disk, but 8 bytes per row in memory.
        if not is_streamed:
            check_fits(path, max(stored, 8 * meta.num_rows * meta.num_columns))
        if meta.num_rows == 0:
            raise DataError(f"'{path}' has no rows.")
        return tuple(file.schema_arrow.names)


def _parquet_batches(path: Path, columns: Sequence[str], most: int) -> Iterator[pd.DataFrame]:
    """Return frames of these columns; text stays encoded until its size is known."""
    with _readable_errors(path):
        with parquet.ParquetFile(path) as file:
            types = {field.name: field.type for field in file.schema_arrow}
        texts = [name for name in columns if _is_text(types[name])]
        rows = 0
        waiting = []  # a file has its own batches, often much smaller ones
        at_once = max(1, min(most, _CELLS // max(1, len(columns))))
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(at_once, columns=list(columns)):
                for name in columns:
                    _check_cells(path, name, batch.column(name), rows)
                rows += len(batch)
                waiting.append(batch)
                if sum(len(batch) for batch in waiting) >= at_once:
                    yield _frame(pa.Table.from_batches(waiting), _encoded_dtype)
                    waiting = []
        if waiting:
            yield _frame(pa.Table.from_batches(waiting), _encoded_dtype)


def _frame(table: Any, encoded: Callable[[Any], Any] | None = None) -> pd.DataFrame:
    """Return a pyarrow table as pandas' frame: decimal numbers as floats, dates as times.

    `encoded` gives the pandas type of dictionaries; without it they are pandas' categories.
    """
    try:
        for index, field in enumerate(table.schema):
            if pa.types.is_decimal(field.type):
                numbers = table.column(index).cast(pa.float64())
                table = table.set_column(index, field.name, numbers)
        # Whole numbers stay such where some are missing; pandas' own would become floats.
        kinds = zip(table.schema.types, table.columns, strict=True)
        gappy = {kind for kind, cells in kinds if pa.types.is_integer(kind) and cells.null_count}

        def dtype(kind: Any) -> Any:
            return pd.ArrowDtype(kind) if kind in gappy else encoded and encoded(kind)

        return table.to_pandas(types_mapper=dtype, date_as_object=False)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise pa.ArrowInvalid(f"its description by pandas is wrong ({error})") from error


def _encoded_dtype(kind: Any) -> Any:
    """Return the pandas type for a pyarrow dictionary that stays one; None for every other type.

    pandas' own categories would be checked for repetitions at once, which takes longer than
    reading.
    """
    return pd.ArrowDtype(kind) if pa.types.is_dictionary(kind) else None


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_cells(path: Path, column: str, values: Any, rows: int) -> None:
    """Raise for a cell that is too long, and for text that does not fit in memory.

    `rows` rows come before these values.
    """
    if not (pa.types.is_dictionary(values.type) and _is_text(values.type.value_type)):
        return
    lengths = pc.binary_length(values.dictionary)
    by_row = pc.take(lengths, values.indices)
    if (pc.max(lengths).as_py() or 0) > ROW_LIMIT:
        long = pc.indices_nonzero(pc.greater(by_row, ROW_LIMIT))
        raise DataError(
            f"'{path}', column '{column}', row {rows + long[0].as_py() + 1}: a cell has more than "
            f"{ROW_LIMIT // 2**20} MiB."
        )
    check_fits(path, pc.sum(by_row).as_py() or 0)


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, JSONDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"'{path}' is damaged, cut short or not a Parquet file: {reason[:120].rstrip('.')}."
        ) from error
