"""The result of a query in a SQLite or DuckDB file as a table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pandas as pd

from agnn.data._input_files import check_file
from agnn.data.tables._source import TableSource, frame_table
from agnn.errors import DataError, InputError, UnavailableError

_SQLITE: Final = b"SQLite format 3\x00"
_DUCKDB: Final = b"DUCK"  # after a checksum of 8 bytes


def open_query(query: str, database: str | Path, what: str) -> TableSource:
    """The rows of one query; the file is opened for reading only.

    `what` names the table in messages: "nodes" or "edges".
    """
    file = Path(database)
    check_file(file)
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
            found = connection.execute(query)
            if found.description is None:
                raise InputError(_not_a_query(what, file))
            return pd.DataFrame(found.fetchall(), columns=_names(found.description, what))
    except sqlite3.Error as error:
        raise DataError(_failure(what, file, error)) from error


def _from_duckdb(query: str, file: Path, what: str) -> pd.DataFrame:
    try:
        duckdb: Any = import_module("duckdb")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"duckdb is not installed, and '{file}' is read with it: pip install 'agnn[large]'."
        ) from error
    # The query reads this file and no other.
    only = {"enable_external_access": "false"}
    try:
        with duckdb.connect(str(file), read_only=True, config=only) as connection:
            found = connection.execute(query)
            columns = _names(found.description or (), what)
            frame: pd.DataFrame = found.df()
            return frame.set_axis(columns, axis=1)
    except duckdb.Error as error:
        raise DataError(_failure(what, file, error)) from error


def _names(description: Any, what: str) -> list[str]:
    names = [str(column[0]) for column in description]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the query for the {what} gives two columns called '{name}'.")
    return names


def _not_a_query(what: str, file: Path) -> str:
    return f"the query for the {what} in '{file}' gives no table; it must be a SELECT."


def _failure(what: str, file: Path, error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"the query for the {what} in '{file}' fails: {words[:300].rstrip('.')}."
