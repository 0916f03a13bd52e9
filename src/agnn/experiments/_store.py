"""Finished runs in one SQLite file, each stored at once and never twice."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Self

from agnn.errors import DataError, UnavailableError
from agnn.experiments._run_spec import RunSpec


@dataclass(frozen=True)
class Key:
    """Runs that are repetitions of each other: hash of the specification, hash of the data."""

    spec: str
    data: str


@dataclass(frozen=True)
class StoredRun:
    """One finished run; with folds, one trial. The lists have one entry per trained replica."""

    spec: str
    data: str
    seed: int
    experiment: str  # for which it was run first
    method: str
    dataset: str
    split: str
    accuracy: float
    selected_epochs: list[int] | None
    betas: list[list[float]] | None
    extra: dict[str, Any]  # further numbers that were measured
    versions: dict[str, str]
    device: str
    backend: str
    seconds: float
    machine: dict[str, Any] = field(default_factory=dict)  # empty: from before it was recorded

    @property
    def key(self) -> Key:
        """What it is a repetition of."""
        return Key(self.spec, self.data)


_APPLICATION: Final = 0x41474E4E  # "AGNN": marks the file as ours
_FORMAT: Final = 1
_PATIENCE: Final = 60.0  # seconds to wait while another process writes
_SCHEMA: Final = """
CREATE TABLE specs (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE runs (
    spec TEXT NOT NULL REFERENCES specs (hash), data TEXT NOT NULL, seed INTEGER NOT NULL,
    experiment TEXT NOT NULL, method TEXT NOT NULL, dataset TEXT NOT NULL, split TEXT NOT NULL,
    accuracy REAL NOT NULL, selected_epochs TEXT NOT NULL, betas TEXT NOT NULL,
    extra TEXT NOT NULL, versions TEXT NOT NULL, device TEXT NOT NULL, backend TEXT NOT NULL,
    seconds REAL NOT NULL, machine TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (spec, data, seed)
) STRICT;
CREATE TABLE claims (
    spec TEXT NOT NULL, data TEXT NOT NULL, seed INTEGER NOT NULL,
    host TEXT NOT NULL, process INTEGER NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (spec, data, seed)
) STRICT;
"""
_ADDED: Final = "ALTER TABLE runs ADD COLUMN machine TEXT NOT NULL DEFAULT '{}'"
_AS_JSON: Final = ("selected_epochs", "betas", "extra", "versions", "machine")
_COLUMNS: Final = tuple(each.name for each in fields(StoredRun))
# Primary result codes of SQLite for a disk that is full, fails or may not be written.
_UNWRITABLE: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


class StoreWriteError(UnavailableError):
    """The store cannot be written; what it holds is intact."""


class Store:
    """The runs in a file; `Store.open` makes it where there is none, and refuses any other file.

    Several processes may use one file at once: each write is one transaction, and a run that is
    there already stays as it is.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self.connection, self.name = connection, name

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store in this file."""
        is_new = not path.exists()
        try:
            path.absolute().parent.mkdir(parents=True, exist_ok=True)
            return cls._prepared(str(path))
        except (sqlite3.Error, StoreWriteError) as error:
            if is_new and path.is_file() and not path.stat().st_size:
                path.unlink()
            if isinstance(error, StoreWriteError):
                raise
            if _is_unwritable(error):
                raise _write_error(str(path), error) from error
            raise DataError(
                f"'{path}' is not a store of agnn, or is damaged ({error}); it is left as it is."
            ) from error
        except OSError as error:
            raise DataError(f"the store '{path}' cannot be opened: {error.strerror}.") from error

    @classmethod
    def in_memory(cls) -> Self:
        """An empty store that is gone with the process."""
        return cls._prepared(":memory:")

    @classmethod
    @contextmanager
    def of(cls, place: Store | Path | str | None) -> Iterator[Store]:
        """A store that is given, or for a while the one in a file; None: one in memory."""
        if isinstance(place, Store):
            yield place
            return
        with closing(cls.in_memory() if place is None else cls.open(Path(place))) as opened:
            yield opened

    @classmethod
    def _prepared(cls, name: str) -> Self:
        connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None)
        store = cls(connection, name)
        try:
            # Nothing is written before the file is known to be new or ours.
            if store._number("schema_version") != 0:
                store._check()
            store._set_up()
            store._check()
        except BaseException:
            connection.close()
            raise
        return store

    @property
    def is_file(self) -> bool:
        """Whether the store is a file, which other processes may use too."""
        return self.name != ":memory:"

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _number(self, pragma: str) -> int:
        return int(self.connection.execute(f"PRAGMA {pragma}").fetchone()[0])

    def _check(self) -> None:
        if self._number("application_id") != _APPLICATION:
            raise DataError(f"'{self.name}' is the file of another program; it is left as it is.")
        version = self._number("user_version")
        if version != _FORMAT:
            raise DataError(f"'{self.name}' has format {version}; this version reads {_FORMAT}.")
        found = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DataError(f"the store '{self.name}' is damaged ({found}); it is left as it is.")

    def _set_up(self) -> None:
        _until_free(lambda: self.connection.execute("PRAGMA journal_mode = WAL"))
        self.connection.execute("PRAGMA synchronous = FULL")  # a run takes longer than a flush
        self.connection.execute("PRAGMA foreign_keys = ON")
        with self.writing():
            if self._number("schema_version") == 0:
                for statement in _SCHEMA.split(";"):
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                self.connection.execute(f"PRAGMA user_version = {_FORMAT}")
            columns = {row[1] for row in self.connection.execute("PRAGMA table_info(runs)")}
            if "machine" not in columns:  # a store of 0.1.0, which goes on reading and writing it
                self.connection.execute(_ADDED)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it or nothing."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:  # SQLite itself ends one when the disk is full
                self.connection.execute("ROLLBACK")
            if _is_unwritable(error):
                raise _write_error(self.name, error) from error
            raise

    def add(self, spec: RunSpec, runs: Iterable[StoredRun]) -> int:
        """Store finished runs of one specification and drop their claims; how many were new."""
        runs = list(runs)
        places = ", ".join("?" for _ in _COLUMNS)
        words = f"INSERT OR IGNORE INTO runs ({', '.join(_COLUMNS)}) VALUES ({places})"  # noqa: S608 (our own names)
        with self.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO specs VALUES (?, ?)", (spec.hash, spec.text))
            connection.executemany(
                "DELETE FROM claims WHERE spec = ? AND data = ? AND seed = ?",
                [(run.spec, run.data, run.seed) for run in runs],
            )
            return sum(connection.execute(words, _packed(run)).rowcount for run in runs)

    def runs(self, key: Key | None = None) -> list[StoredRun]:
        """The runs with this key by seed; without one all runs, in an order that never changes."""
        words = f"SELECT {', '.join(_COLUMNS)} FROM runs"  # noqa: S608 (our own names)
        if key is None:
            order = " ORDER BY split, method, dataset, spec, data, seed"
            return [_unpacked(row) for row in self.connection.execute(words + order)]
        where = " WHERE spec = ? AND data = ? ORDER BY seed"
        return [_unpacked(row) for row in self.connection.execute(words + where, _pair(key))]

    def missing(self, key: Key, seeds: Sequence[int]) -> tuple[int, ...]:
        """Those of `seeds` that have no finished run."""
        found = self.connection.execute(
            "SELECT seed FROM runs WHERE spec = ? AND data = ?", _pair(key)
        )
        there = {seed for (seed,) in found}
        return tuple(seed for seed in seeds if seed not in there)

    def spec(self, spec_hash: str) -> RunSpec:
        """The specification behind a hash."""
        found = self.connection.execute("SELECT text FROM specs WHERE hash = ?", (spec_hash,))
        return RunSpec(found.fetchone()[0])


def _is_unwritable(error: BaseException) -> bool:
    """Whether SQLite failed to write, rather than to understand what it read."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return isinstance(error, sqlite3.Error) and code & 0xFF in _UNWRITABLE


def _write_error(name: str, error: BaseException) -> StoreWriteError:
    return StoreWriteError(
        f"the store '{name}' cannot be written ({error}). The runs in it are intact: free some "
        f"space and give the same command again, or choose another --store."
    )


def _pair(key: Key) -> tuple[str, str]:
    return key.spec, key.data


def _packed(run: StoredRun) -> list[Any]:
    values = ((name, getattr(run, name)) for name in _COLUMNS)
    return [json.dumps(value) if name in _AS_JSON else value for name, value in values]


def _unpacked(row: Sequence[Any]) -> StoredRun:
    values = zip(_COLUMNS, row, strict=True)
    return StoredRun(
        **{name: json.loads(value) if name in _AS_JSON else value for name, value in values}
    )


def _until_free(action: Any) -> None:
    """Do this, again if another process has the file: SQLite does not wait at this point."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            action()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return
