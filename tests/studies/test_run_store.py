"""The store keeps every finished run once, whatever happens to the process or the file."""

from __future__ import annotations

import sqlite3

import pytest
from small_tables import stored_run

from agnn.errors import DataError
from agnn.studies import Store
from agnn.studies._works import Key, RunSpec

SPEC = RunSpec.from_values({"method": "agnn", "split": "fixed"})


def test_what_is_stored_comes_back(tmp_path):
    run = stored_run(spec=SPEC.hash, extra={"top_within": 0.5})
    store = Store.open(tmp_path / "runs.sqlite")
    assert store.add(SPEC, [run]) == 1
    store.close()
    again = Store.open(tmp_path / "runs.sqlite")
    assert again.runs() == [run]
    assert again.spec(SPEC.hash) == SPEC
    assert again.missing(Key(SPEC.hash, "d"), (0, 1, 2)) == (1, 2)
    assert again.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    again.close()


def test_a_run_that_is_there_stays_as_it_is(store):
    first, second = stored_run(spec=SPEC.hash), stored_run(spec=SPEC.hash, accuracy=10.0)
    assert (store.add(SPEC, [first]), store.add(SPEC, [second])) == (1, 0)
    assert store.runs() == [first]


def test_runs_of_another_specification_or_of_other_data_do_not_count(store):
    store.add(SPEC, [stored_run(spec=SPEC.hash)])
    assert store.runs(Key(SPEC.hash, "other data")) == []
    assert store.runs(Key("another spec", "d")) == []
    assert store.missing(Key(SPEC.hash, "other data"), (0,)) == (0,)


def test_a_batch_is_stored_whole_or_not_at_all(store):
    broken = stored_run(spec=SPEC.hash, seed=1, accuracy="text")
    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT value in REAL"):
        store.add(SPEC, [stored_run(spec=SPEC.hash), broken])
    assert store.runs() == []


def test_a_foreign_database_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (word TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="is the file of another program; it is left as it is"):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database at all", b"x" * 5000, b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a store of agnn, or is damaged"):
        Store.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_store_is_refused_and_left_as_it_is(tmp_path, share):
    path = tmp_path / "runs.sqlite"
    store = Store.open(path)
    store.add(SPEC, [stored_run(spec=SPEC.hash, seed=seed) for seed in range(200)])
    store.close()  # the last connection moves the log into the file
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    before = path.read_bytes()
    with pytest.raises(DataError, match="damaged"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_store_of_a_later_format_is_refused(tmp_path):
    path = tmp_path / "runs.sqlite"
    store = Store.open(path)
    store.connection.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(DataError, match="has format 99; this version reads 1"):
        Store.open(path)


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(DataError, match="not a store of agnn"):
        Store.open(tmp_path)


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "runs.sqlite").touch()  # what a process that died at once leaves behind
    store = Store.open(tmp_path / "runs.sqlite")
    assert store.runs() == []
    store.close()
