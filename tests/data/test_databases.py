"""Queries in SQLite and DuckDB files give the data that the same tables give."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from agnn import DataError, InputError, NodeData, read_tables
from agnn.data.tables import NewNodes
from own_tables import write_tables

NODES, EDGES = "SELECT id, topic, age, colour, motto FROM people", "SELECT * FROM links"


def in_sqlite(nodes: Path, edges: Path, path: Path) -> Path:
    connection = sqlite3.connect(path)
    pd.read_csv(nodes).to_sql("people", connection, index=False)
    pd.read_csv(edges).to_sql("links", connection, index=False)
    connection.close()
    return path


def in_duckdb(nodes: Path, edges: Path, path: Path) -> Path:
    duckdb = pytest.importorskip("duckdb", reason="pip install agnn[large]")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{nodes}'")  # noqa: S608 (ours)
        connection.execute(f"CREATE TABLE links AS SELECT * FROM '{edges}'")  # noqa: S608 (ours)
    return path


@pytest.fixture(params=[in_sqlite, in_duckdb], ids=["sqlite", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.param(*write_tables(tmp_path), tmp_path / "people.db")


def read(database: Path, nodes: str = NODES, edges: str = EDGES) -> NodeData:
    return read_tables(nodes, edges, database=database, label="topic")


def test_a_query_is_read_as_the_same_table_in_a_file(database: Path, tmp_path: Path) -> None:
    found, expected = read(database), read_tables(*write_tables(tmp_path), label="topic")
    assert found.name == "people"
    assert found.fingerprint == expected.fingerprint
    assert found.node_ids == expected.node_ids
    assert found.report.reading.leaks == expected.report.reading.leaks
    before = database.read_bytes()
    fewer = read(database, f"{NODES} WHERE age > 30 OR age IS NULL", "SELECT source, target FROM "
                 "links WHERE 7 / 2 >= 3 AND source IN (SELECT id FROM people WHERE age > 30) AND "
                 "target IN (SELECT id FROM people WHERE age > 30)")  # fmt: skip
    assert fewer.nodes < found.nodes
    assert database.read_bytes() == before


def test_new_nodes_come_from_queries_too(database: Path) -> None:
    known = read(database, f"{NODES} WHERE id <> 'p7'", "SELECT * FROM links WHERE source <> 'p7' "
                 "AND target <> 'p7'")  # fmt: skip
    new = NewNodes.read(
        known, f"{NODES} WHERE id = 'p7'",
        "SELECT * FROM links WHERE source = 'p7' AND target <> 'p7'", database=database,
    )  # fmt: skip
    assert new.ids == ("p7",)
    assert new.edges.shape[0] == 2


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("SELECT id FROM peple", "the query for the nodes in '.*' fails: .*peple"),
        ("SELEC id", "the query for the nodes in '.*' fails: "),
        ("SELECT * FROM people WHERE age < 0", "the query for the nodes in '.*' gives no rows"),
        ("SELECT ? FROM people", "the query for the nodes in '.*' fails: "),
    ],
)
def test_a_wrong_query_is_named_and_changes_nothing(database: Path, nodes: str, words: str) -> None:
    before = database.read_bytes()
    with pytest.raises(DataError, match=words):
        read(database, nodes)
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- nothing",
        "DELETE FROM people",
        "CREATE TABLE other (a INT)",
        "ATTACH '{folder}/made.db' AS other",
        "BEGIN",
    ],
)
def test_a_query_that_is_no_select_is_refused_and_writes_nothing(
    database: Path, query: str
) -> None:
    before = {path.name: path.read_bytes() for path in database.parent.iterdir()}
    for queries in ((query, EDGES), (NODES, query)):
        with pytest.raises(InputError, match=r"must be one SELECT, which reads and nothing else"):
            read(database, *(each.format(folder=database.parent) for each in queries))
    assert {path.name: path.read_bytes() for path in database.parent.iterdir()} == before


def test_a_sqlite_query_copies_nothing_and_reads_virtual_tables(tmp_path: Path) -> None:
    path = in_sqlite(*write_tables(tmp_path), tmp_path / "people.db")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(motto)")
        connection.execute("INSERT INTO words SELECT motto FROM people")
    connection.close()
    for query in ("VACUUM INTO '{}'", "SELECT 1; VACUUM INTO '{}'", "PRAGMA user_version = 1"):
        with pytest.raises((InputError, DataError), match="the query for the nodes in"):
            read(path, query.format(tmp_path / "stolen.db"))
    assert not (tmp_path / "stolen.db").exists()
    chosen = "rowid IN (SELECT rowid FROM words) AND 1 IN (SELECT value FROM json_each('[1]'))"
    assert read(path, f"{NODES} WHERE {chosen}").nodes == read(path).nodes


@pytest.mark.parametrize("query", ["CALL {}", "SELECT * FROM {}", "PIVOT people ON age; {}"])
def test_a_duckdb_query_changes_no_setting(tmp_path: Path, query: str) -> None:
    path = in_duckdb(*write_tables(tmp_path), tmp_path / "people.db")
    switch = f"enable_logging(storage='file', storage_path='{tmp_path}/log')"
    with pytest.raises((InputError, DataError), match="the query for the nodes in"):
        read(path, query.format(switch))
    assert not (tmp_path / "log").exists()
    assert read(path).nodes


def test_ctrl_c_ends_an_endless_query(database: Path) -> None:
    count = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT max(k) FROM n"
    # Where the tests run in the background of a shell, children would ignore the signal.
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program += "from agnn import read_tables; print('reads', flush=True); "
    program += "read_tables(sys.argv[1], 'SELECT 1', database=sys.argv[2], label='topic')"
    command = [sys.executable, "-c", program, count, str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 (ours)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1)  # it has begun, or the signal comes before it: both end
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert said.decode().strip().endswith("KeyboardInterrupt")


def test_two_columns_of_one_name_and_other_files_are_refused(
    database: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="gives two columns called 'id'"):
        read(database, "SELECT id, topic AS id FROM people")
    with pytest.raises(InputError, match=r"the query for the nodes in '.*' is not valid text"):
        read(database, "SELECT '\udcff'")
    other = tmp_path / "other.db"
    other.write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match="is neither a SQLite nor a DuckDB database"):
        read(other)


def test_a_duckdb_query_reads_no_other_file(tmp_path: Path) -> None:
    nodes, edges = write_tables(tmp_path)
    path = in_duckdb(nodes, edges, tmp_path / "people.db")
    with pytest.raises(DataError, match=r"fails: .*[Pp]ermission"):
        read(path, f"SELECT * FROM '{nodes}'")  # noqa: S608 (ours)
