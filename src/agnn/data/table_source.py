"""A table that can be read column by column and batch by batch, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agnn.data.csv_files import csv_batches, csv_columns
from agnn.data.edge_list_files import edge_list_batches, edge_list_columns
from agnn.data.file_limits import check_file
from agnn.data.packages import tables_package
from agnn.data.parquet_files import parquet_batches, parquet_columns
from agnn.errors import DataError, InputError

_CSV: Final = (".csv", ".tsv", ".tab", ".txt")
_PARQUET: Final = (".parquet", ".pq")
_EDGE_LIST: Final = (".edgelist", ".edges")


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table of the user's: its name for messages, its columns, and how to read them."""

    place: str
    """As messages name it, such as "'nodes.csv'"."""

    columns: tuple[str, ...]
    batches: Callable[[Sequence[str]], Iterator[Any]]
    """From column names to pandas frames with these columns, in the order of the rows."""

    is_untyped: bool = False
    """Every cell is text, as in CSV: what is a number is for us to find out."""

    may_be_empty: bool = False
    """Whether no rows are fine: a graph may have no edges, but a file of edges has some."""

    note: str = ""
    """What was noticed on opening it."""

    def frame(self, columns: Sequence[str]) -> Any:
        """The whole of these columns as one pandas frame."""
        pandas = tables_package("pandas")
        parts = list(self.batches(columns))
        whole = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()
        if not len(whole):
            raise DataError(f"{self.place} has no rows.")
        return whole


def open_table(path: str | Path) -> TableSource:
    """The table in a CSV, TSV, Parquet or edge list file, by the end of its name."""
    file = Path(path)
    check_file(file)
    end, place = file.suffix.lower(), f"'{file}'"
    if end in _CSV:
        names, delimiter, note = csv_columns(file)
        return TableSource(
            place,
            _named(place, names),
            lambda some: csv_batches(file, delimiter, some),
            True,
            note=note,
        )
    if end in _PARQUET:
        names = parquet_columns(file)
        return TableSource(place, _named(place, names), lambda some: parquet_batches(file, some))
    if end in _EDGE_LIST:
        names = edge_list_columns(file)
        return TableSource(place, names, lambda some: edge_list_batches(file, some), True)
    raise InputError(
        f"'{file}' is no table that agnn reads: its name must end in "
        f"{', '.join((*_CSV, *_PARQUET))}, or for edges in {' or '.join(_EDGE_LIST)}."
    )


def frame_table(frame: Any, place: str) -> TableSource:
    """A pandas frame as a source."""
    if not hasattr(frame, "columns") or not hasattr(frame, "iloc"):
        raise InputError(f"{place} must be a pandas DataFrame; got {type(frame).__name__}.")
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    named = named.reset_index(drop=True)
    columns = _named(place, tuple(named.columns))
    return TableSource(place, columns, lambda some: iter([named[list(some)]]))


def _named(place: str, columns: Sequence[str]) -> tuple[str, ...]:
    for name in columns:
        if list(columns).count(name) > 1:
            raise DataError(f"{place} has two columns called '{name}'; rename one of them.")
    return tuple(columns)
