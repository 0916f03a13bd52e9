"""The result of a query in a SQLite or DuckDB file as a table."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pandas as pd

from agnn.data._input_files import check_file, local_file
from agnn.data.tables._source import TableSource, frame_table
from agnn.errors import DataError, InputError, UnavailableError

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


def open_query(query: str, database: str | Path, what: str) -> TableSource:
    """Return the rows of one query, which can read this file and do nothing else.

    A query may come with a configuration file from somebody else. `what` names the table in
    messages: "nodes" or "edges". There is no bound on its time, for a large table takes what it
    takes; Ctrl-C ends it.
    """
    file = local_file(database)
    check_file(file)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the query for the {what} in '{file}' is not valid text.") from error
    with file.open("rb") as stream:
        head = stream.read(16)
    if head == _SQLITE:
        frame = _from_sqlite(query, file, what)
    elif head[8:12] == _DUCKDB:
        frame = _from_duckdb(query, file, what)
    else:
        raise InputError(f"'{file}' is neither a SQLite nor a DuckDB database.")
    if frame.empty:
        raise DataError(f"the query for the {what} in '{file}' gives no rows.")
    return frame_table(frame, f"the query for the {what} in '{file}'")


def _from_sqlite(query: str, file: Path, what: str) -> pd.DataFrame:
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.set_authorizer(_permission)
            connection.set_progress_handler(_let_signals_in, _STEPS)
            rows = connection.execute(query)
            if rows.description is None:
                raise InputError(_not_a_query(what, file))
            return pd.DataFrame(rows.fetchall(), columns=_names(rows.description, what))
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        if "authoriz" in str(error):  # the code is not always that of a refusal
            raise InputError(_not_a_query(what, file)) from error
        raise DataError(_failure(what, file, error)) from error


def _permission(action: int, subject: str | None, *_: str | None) -> int:
    is_harmless = action in _READING or (action, subject) in _OPENING
    return sqlite3.SQLITE_OK if is_harmless else sqlite3.SQLITE_DENY


def _let_signals_in() -> int:
    """Do nothing: Python handles Ctrl-C before it calls this, and SQLite then stops."""
    return 0


def _from_duckdb(query: str, file: Path, what: str) -> pd.DataFrame:
    try:
        duckdb: Any = import_module("duckdb")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"duckdb is not installed, and '{file}' is read with it: pip install 'agnn[large]'."
        ) from error
    # The query reads this file and no other. A log that it would switch on ends the process.
    only = {"enable_external_access": "false", "lock_configuration": "true"}
    try:
        with duckdb.connect(str(file), read_only=True, config=only) as connection:
            statements = connection.extract_statements(query)
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                raise InputError(_not_a_query(what, file))
            # In a thread: one that works for DuckDB hears of Ctrl-C now and then only.
            with ThreadPoolExecutor(1) as pool:
                result = pool.submit(_duckdb_rows, connection, statements[0])
                try:
                    names, frame = result.result()
                except KeyboardInterrupt:
                    while not wait([result], timeout=0.1).done:  # it may not have begun
                        connection.interrupt()
                    raise
            return frame.set_axis(_names(names, what), axis=1)
    except duckdb.Error as error:
        raise DataError(_failure(what, file, error)) from error


def _duckdb_rows(connection: Any, statement: Any) -> tuple[Any, pd.DataFrame]:
    rows = connection.execute(statement)
    return rows.description or (), rows.df()


def _names(description: Any, what: str) -> list[str]:
    names = [str(column[0]) for column in description]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the query for the {what} gives two columns called '{name}'.")
    return names


def _not_a_query(what: str, file: Path) -> str:
    return f"the query for the {what} in '{file}' must be one SELECT, which reads and nothing else."


def _failure(what: str, file: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())
    return f"the query for the {what} in '{file}' fails: {reason[:300].rstrip('.')}."
