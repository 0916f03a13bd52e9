"""Finished runs in one SQLite file, each stored at once and never twice.

Runs can also be exported as text files that are committed: one line per cell, the same bytes each
time.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from agnn.errors import DataError, InputError, UnavailableError
from agnn.studies._works import Key, RunSpec


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
    machine: dict[str, Any]  # empty where it was not recorded

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
    seconds REAL NOT NULL, machine TEXT NOT NULL,
    PRIMARY KEY (spec, data, seed)
) STRICT;
CREATE TABLE claims (
    spec TEXT NOT NULL, data TEXT NOT NULL, seed INTEGER NOT NULL,
    host TEXT NOT NULL, process INTEGER NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (spec, data, seed)
) STRICT;
"""
# Stored as JSON; the other columns are numbers and texts.
_AS_JSON: Final = ("selected_epochs", "betas", "extra", "versions", "machine")
_COLUMNS: Final = tuple(column.name for column in fields(StoredRun))
# In an exported line a list with one entry per seed; the other fields are shared by all seeds.
_PER_RUN: Final = ("seed", "accuracy", "selected_epochs", "betas", "extra", "seconds")
_SUFFIX: Final = ".jsonl"
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
        self.connection = connection
        self.name = name

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the store in this file, which is made if there is none."""
        is_new = not path.exists()
        try:
            path.absolute().parent.mkdir(parents=True, exist_ok=True)
            return cls._connect(str(path))
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
    def open_existing(cls, path: Path) -> Self:
        """Return the store in this file, which must exist."""
        if not path.is_file():
            raise InputError(f"there is no store '{path}'; give --store, or --rows with a folder.")
        return cls.open(path)

    @classmethod
    def in_memory(cls) -> Self:
        """Return an empty store that is gone with the process."""
        return cls._connect(":memory:")

    @classmethod
    def from_rows(cls, folder: Path) -> Self:
        """Return a store in memory with the exported runs in `folder`."""
        store = cls.in_memory()
        store.import_rows(folder)
        return store

    @classmethod
    @contextmanager
    def of(cls, store: Store | Path | str | None) -> Iterator[Store]:
        """Give a store, or for the time of the block the one in a file; None: one in memory."""
        if isinstance(store, Store):
            yield store
            return
        with closing(cls.in_memory() if store is None else cls.open(Path(store))) as opened:
            yield opened

    @classmethod
    def _connect(cls, name: str) -> Self:
        connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None)
        store = cls(connection, name)
        try:
            # Nothing is written before the file is known to be new or ours.
            if store._number("schema_version") != 0:
                store._check()
            store._set_up()
            store._check()  # another process may have set up the file in between
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
        answer = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if answer != "ok":
            raise DataError(f"the store '{self.name}' is damaged ({answer}); it is left as it is.")

    def _set_up(self) -> None:
        _retry_until_free(lambda: self.connection.execute("PRAGMA journal_mode = WAL"))
        self.connection.execute("PRAGMA synchronous = FULL")  # a run takes longer than a flush
        self.connection.execute("PRAGMA foreign_keys = ON")
        with self.writing():
            if self._number("schema_version") == 0:
                for statement in _SCHEMA.split(";"):
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                self.connection.execute(f"PRAGMA user_version = {_FORMAT}")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction: all of it or nothing."""
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
        """Store finished runs of one specification, drop their claims, return how many were new."""
        runs = list(runs)
        marks = ", ".join("?" for _ in _COLUMNS)
        insert = f"INSERT OR IGNORE INTO runs ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608 (our own names)
        with self.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO specs VALUES (?, ?)", (spec.hash, spec.text))
            connection.executemany(
                "DELETE FROM claims WHERE spec = ? AND data = ? AND seed = ?",
                [(run.spec, run.data, run.seed) for run in runs],
            )
            return sum(connection.execute(insert, _to_row(run)).rowcount for run in runs)

    def runs(self, key: Key | None = None) -> list[StoredRun]:
        """Return the runs with this key by seed, or all runs, in an order that never changes."""
        select = f"SELECT {', '.join(_COLUMNS)} FROM runs"  # noqa: S608 (our own names)
        if key is None:
            order = " ORDER BY split, method, dataset, spec, data, seed"
            rows = self.connection.execute(select + order)
        else:
            where = " WHERE spec = ? AND data = ? ORDER BY seed"
            rows = self.connection.execute(select + where, (key.spec, key.data))
        return [_from_row(row) for row in rows]

    def missing(self, key: Key, seeds: Sequence[int]) -> tuple[int, ...]:
        """Return those of `seeds` that have no finished run."""
        rows = self.connection.execute(
            "SELECT seed FROM runs WHERE spec = ? AND data = ?", (key.spec, key.data)
        )
        finished = {seed for (seed,) in rows}
        return tuple(seed for seed in seeds if seed not in finished)

    def spec(self, spec_hash: str) -> RunSpec:
        """Return the specification behind a hash."""
        rows = self.connection.execute("SELECT text FROM specs WHERE hash = ?", (spec_hash,))
        return RunSpec(rows.fetchone()[0])

    def import_rows(self, folder: Path) -> int:
        """Add the runs in the files of `folder`, and return how many were new."""
        files = sorted(folder.glob(f"*{_SUFFIX}"))
        if not files and not folder.is_dir():
            raise DataError(f"'{folder}' is not a folder of exported runs.")
        new = 0
        for file in files:
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    spec, runs = _from_line(line)
                except (ValueError, TypeError, KeyError, DataError) as error:
                    raise DataError(
                        f"'{file}', line {number}: not an exported run ({error})."
                    ) from error
                new += self.add(spec, runs)
        return new

    def export_rows(self, folder: Path) -> list[Path]:
        """Write the runs to `folder`, one file per kind of split, beside those already in it."""
        merged = Store.in_memory()
        if folder.is_dir():
            merged.import_rows(folder)
        for run in self.runs():
            merged.add(self.spec(run.spec), [run])
        lines: dict[str, list[str]] = {}
        for group in _groups(merged.runs()):
            file = re.sub(r"[^a-z0-9-]+", "_", group[0].split.lower()) + _SUFFIX
            lines.setdefault(file, []).append(_to_line(group, merged.spec(group[0].spec)))
        folder.mkdir(parents=True, exist_ok=True)
        for file, texts in lines.items():
            (folder / file).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return [folder / file for file in lines]


def _is_unwritable(error: BaseException) -> bool:
    """Whether SQLite failed to write, rather than to understand what it read."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return isinstance(error, sqlite3.Error) and code & 0xFF in _UNWRITABLE


def _write_error(name: str, error: BaseException) -> StoreWriteError:
    return StoreWriteError(
        f"the store '{name}' cannot be written ({error}). The runs in it are intact: free some "
        f"space and give the same command again, or choose another --store."
    )


def _to_row(run: StoredRun) -> list[Any]:
    values = ((name, getattr(run, name)) for name in _COLUMNS)
    return [json.dumps(value) if name in _AS_JSON else value for name, value in values]


def _from_row(row: Sequence[Any]) -> StoredRun:
    values = zip(_COLUMNS, row, strict=True)
    return StoredRun(
        **{name: json.loads(value) if name in _AS_JSON else value for name, value in values}
    )


def _groups(runs: Iterable[StoredRun]) -> list[list[StoredRun]]:
    """Return runs that differ in nothing but their seed and their results, in order."""
    groups: dict[str, list[StoredRun]] = {}
    for run in runs:
        groups.setdefault(json.dumps(_shared_fields(run), sort_keys=True), []).append(run)
    return list(groups.values())


def _shared_fields(run: StoredRun) -> dict[str, Any]:
    return {name: value for name, value in asdict(run).items() if name not in _PER_RUN}


def _to_line(group: list[StoredRun], spec: RunSpec) -> str:
    lists = {name: [getattr(run, name) for run in group] for name in _PER_RUN}
    lists["seconds"] = [round(value, 3) for value in lists["seconds"]]
    return json.dumps({**_shared_fields(group[0]), "specification": spec.values, **lists})


def _from_line(line: str) -> tuple[RunSpec, list[StoredRun]]:
    values = json.loads(line)
    spec = RunSpec.from_values(values.pop("specification"))
    if spec.hash != values["spec"]:
        raise DataError(f"its specification has the hash {spec.hash}, not {values['spec']}")
    lists = [values.pop(name) for name in _PER_RUN]
    runs = [
        StoredRun(**values, **dict(zip(_PER_RUN, entries, strict=True)))
        for entries in zip(*lists, strict=True)
    ]
    return spec, runs


def _retry_until_free(action: Callable[[], object]) -> None:
    """Do this, again while another process has the file: SQLite does not wait at this point."""
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
