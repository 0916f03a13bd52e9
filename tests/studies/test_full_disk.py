"""A full disk is called a full disk: the store stays intact, and the next call goes on."""

from __future__ import annotations

import sqlite3

import pytest
from small_tables import stored_run

import agnn.studies._batches as batches
from agnn.errors import UnavailableError
from agnn.runs import evaluate
from agnn.studies import Store
from agnn.studies._executor import execute
from agnn.studies._store import StoreWriteError
from agnn.studies._works import RunSpec, works_of

SPEC = RunSpec.from_values({"method": "agnn", "split": "fixed"})


def fill(store: Store) -> None:
    """No page more: what SQLite then meets is what a full disk gives it."""
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count = {pages}")


def runs(count: int) -> list:
    return [stored_run(spec=SPEC.hash, seed=seed) for seed in range(count)]


def test_a_store_that_is_full_keeps_what_it_holds(tmp_path):
    store = Store.open(tmp_path / "runs.sqlite")
    store.add(SPEC, runs(2))
    fill(store)
    with pytest.raises(StoreWriteError, match=r"cannot be written \(database or disk is full\)"):
        store.add(SPEC, runs(500))
    assert len(store.runs()) == 2
    store.close()
    again = Store.open(tmp_path / "runs.sqlite")
    assert again.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert again.add(SPEC, runs(500)) == 498
    again.close()


def test_a_full_store_ends_the_work_at_once_and_the_next_call_goes_on(small, tmp_path, monkeypatch):
    store, calls = Store.open(tmp_path / "runs.sqlite"), []

    def filling(method, data, *rest, **options):
        calls.append(data.name)
        run = evaluate(method, data, *rest, **options)
        fill(store)
        store.connection.execute("PRAGMA max_page_count = 1")  # as many as are in use
        return run

    monkeypatch.setattr(batches, "evaluate", filling)
    monkeypatch.setattr(batches, "_stored_runs", lambda batch, *_: _many(batch.work))
    with pytest.raises(UnavailableError, match="the same command again"):
        execute(works_of(small), store)
    assert calls == ["cora"], "the others would meet the same disk"
    store.close()
    monkeypatch.undo()
    again = Store.open(tmp_path / "runs.sqlite")
    assert execute(works_of(small), again).new == 6
    assert again.connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    again.close()


def _many(work):
    return [
        stored_run(spec=work.key.spec, data=work.key.data, seed=seed, device="x" * 9000)
        for seed in range(3)
    ]


def test_a_disk_that_fails_while_a_store_is_opened_is_not_called_damage(tmp_path, monkeypatch):
    class Failing(sqlite3.Connection):
        def execute(self, words, *rest):
            if words.startswith("BEGIN"):
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
                raise error
            return super().execute(words, *rest)

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, factory=Failing, **k))
    with pytest.raises(StoreWriteError, match=r"cannot be written \(disk I/O error\)"):
        Store.open(tmp_path / "new.sqlite")
