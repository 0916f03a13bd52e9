"""Hostile queries and damaged databases for `agnn inspect --database`, SQLite and DuckDB.

A query reads its file and nothing else: no file is made or changed, whatever it says.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from forked import Case, Result, finished
from mutants import HOSTILE_CELLS, changed_bytes

NODES = "SELECT id, topic, age, colour, motto FROM people"
EDGES = "SELECT source, target FROM links"
_HOSTILE = (
    "", ";", "--", "/*", "SELECT", "SELECT 1; SELECT 2", "SELECT * FROM people; DROP TABLE people",
    "VACUUM INTO 'stolen.db'", "VACUUM", "ATTACH 'made.db' AS other", "ATTACH ':memory:' AS other",
    "DETACH main", "CREATE TABLE other (a INT)", "CREATE TEMP TABLE other AS SELECT * FROM people",
    "INSERT INTO people VALUES (1)", "INSERT INTO people SELECT * FROM people RETURNING *",
    "DELETE FROM people", "UPDATE people SET id = 1 RETURNING id", "DROP TABLE people", "BEGIN",
    "PRAGMA user_version = 7", "PRAGMA journal_mode = WAL", "PRAGMA database_list", "REINDEX",
    "ANALYZE", "SELECT load_extension('x.so')", "SELECT writefile('made.txt', 'x')",
    "SELECT readfile('/etc/passwd')", "SELECT * FROM pragma_table_info('people')",
    "EXPLAIN SELECT 1", "COPY people TO 'made.csv'", "EXPORT DATABASE 'made'",
    "IMPORT DATABASE 'made'", "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_csv('nodes.csv')",
    "SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM glob('/*')", "INSTALL httpfs",
    "LOAD httpfs", "SET enable_external_access = true", "RESET lock_configuration",
    "CALL enable_logging(storage='file', storage_path='made')",
    "SELECT * FROM enable_logging(storage='file', storage_path='made')",
    "SELECT * FROM enable_profiling()", "PRAGMA enable_profiling='json'", "CHECKPOINT",
    "SET temp_directory = 'made'", "SET log_query_path = 'made.log'", "PREPARE v AS SELECT 1",
    "SELECT * FROM duckdb_settings()", "SELECT * FROM sqlite_master", "PIVOT people ON colour",
    "SELECT * FROM people WHERE id = ?", "SELECT $1", "SELECT * FROM query('DELETE FROM people')",
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT 50) SELECT * FROM n",
    "SELECT id, topic, topic FROM people", "SELECT count(*) FROM people", "VALUES (1, 2)",
    "SELECT x'00' AS id, 'a' AS topic", "SELECT '\udcff' AS id, 'a' AS topic", "SELECT 1\x00",
    "SELECT NULL AS id, NULL AS topic FROM people", "SELECT 1e999 AS id, -1e999 AS topic",
    "SELECT id AS \"\", topic FROM people", "(" * 2000, "SELECT " + "(" * 500 + "1" + ")" * 500,
    "SELECT 'é' AS id, 'topic' AS topic", "SELECT * FROM people, people AS b, people AS c LIMIT 9",
)  # fmt: skip


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    databases = work / "databases"
    if count:
        import duckdb  # noqa: F401 (for the forks)

        finished(lambda: _write(base), databases)
    for number in range(count):
        folder = work / f"query-{number}"
        folder.mkdir()
        name = ("people.sqlite", "people.duckdb")[number % 2]
        path = folder / name
        shutil.copy(databases / name, path)
        queries = [NODES, EDGES]
        kind = [_hostile, _changed, _damaged][number // 2 % 3]
        kind(source, queries, path)
        options = ["--nodes", queries[0], "--edges", queries[1], "--label", "topic"]
        command = ["inspect", "--database", name, *options]
        check = _check(path, path.read_bytes())
        yield Case(f"{name} {kind.__name__[1:]} {number}", folder, [command], check)


def _write(base: Path) -> int:
    import duckdb
    import pandas as pd

    tables = {"people": pd.read_csv(base / "nodes.csv"), "links": pd.read_csv(base / "edges.csv")}
    connection = sqlite3.connect("people.sqlite")
    with duckdb.connect("people.duckdb") as other:
        for name, table in tables.items():
            table.to_sql(name, connection, index=False)
            other.register("frame", table)
            other.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")  # noqa: S608 (ours)
    connection.close()
    return 0


def _check(path: Path, before: bytes) -> Callable[[Result], str | None]:
    def check(result: Result) -> str | None:
        found = result.complaint()
        names = {each.name for each in path.parent.iterdir()}
        if found is None and names != {path.name, "stdout.txt", "stderr.txt"}:
            found = f"a query made files: {sorted(names)}"
        if found is None and path.read_bytes() != before:
            found = "a query changed the database"
        return found

    return check


def _hostile(source: random.Random, queries: list[str], _: Path) -> None:
    queries[source.randrange(2)] = source.choice(_HOSTILE)


def _changed(source: random.Random, queries: list[str], _: Path) -> None:
    """A query with some characters changed, or a hostile word in it."""
    place = source.randrange(2)
    if source.random() < 0.5:
        words = queries[place].split()
        word = source.choice(HOSTILE_CELLS)
        words[source.randrange(len(words))] = word if len(word) < 1000 else word[:1000]
        queries[place] = " ".join(words).replace("\x00", "")
    else:
        changed = changed_bytes(source, queries[place].encode()).replace(b"\x00", b"")
        queries[place] = changed.decode("utf-8", "surrogateescape")


def _damaged(source: random.Random, _: list[str], path: Path) -> None:
    path.write_bytes(changed_bytes(source, path.read_bytes()))
