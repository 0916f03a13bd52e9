"""A claim holds a run back while its owner works on it, and not a minute longer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_tables import stored_run

import agnn.studies._claims as claims
import agnn.studies._executor as executor
from agnn.studies import Store
from agnn.studies._claims import Owner, claim, held_claims, hold_claims, is_void, this_process
from agnn.studies._executor import execute
from agnn.studies._selection import Choice
from agnn.studies._works import Key, RunSpec, works_of

SPEC = RunSpec.from_values({"method": "agnn", "split": "fixed"})
KEY = Key(SPEC.hash, "d")
ELSEWHERE = Owner("container-1", 1)  # a machine that nothing is known of


def put(store, key, seed, owner, since=None):
    """A claim, as another process would have made it."""
    when = time.time() if since is None else since
    store.connection.execute(
        "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?)", (key.spec, key.data, seed, *owner, when)
    )


def count(store):
    return store.connection.execute("SELECT count(*) FROM claims").fetchone()[0]


@pytest.fixture
def work(small):
    (found,) = works_of(Choice(datasets=frozenset({"cora"})).narrow(small))
    return found


def test_a_claim_of_another_process_holds_while_its_heart_beats(store):
    put(store, KEY, 1, ELSEWHERE, time.time() - 50)
    assert claim(store, KEY, (0, 1, 2)) == (0, 2)


@pytest.mark.parametrize("since", [61, 24 * 3600, -61], ids=["a minute", "a day", "clock set back"])
def test_a_claim_without_a_heartbeat_for_a_minute_is_void(store, since):
    put(store, KEY, 1, ELSEWHERE, time.time() - since)
    assert claim(store, KEY, (0, 1, 2)) == (0, 1, 2)


def test_a_renamed_host_changes_nothing(store, monkeypatch):
    assert claim(store, KEY, (0,)) == (0,)
    monkeypatch.setattr("socket.gethostname", lambda: "renamed")
    assert claim(store, KEY, (0,)) == (0,)


needs_proc = pytest.mark.skipif(not Path("/proc/self/ns").is_dir(), reason="needs /proc")


@needs_proc
def test_the_claims_of_a_process_that_has_ended_are_void_at_once(store):
    program = "from agnn.studies._claims import this_process; print(*this_process(), sep='|')"
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, "-c", program], capture_output=True, text=True, env=places, check=True
    )
    host, process = done.stdout.strip().split("|")
    put(store, KEY, 1, Owner(host, int(process)))
    assert claim(store, KEY, (1,)) == (1,)


@needs_proc
def test_a_process_id_that_is_in_use_again_holds_nothing(store):
    machine = this_process().host.rpartition(" ")[0]
    put(store, KEY, 1, Owner(f"{machine} 1", os.getppid()))  # it runs, but started later
    assert claim(store, KEY, (1,)) == (1,)


@needs_proc
def test_a_living_process_of_this_machine_is_known_to_live():
    machine = this_process().host.rpartition(" ")[0]
    start = claims._start_of(os.getppid())
    assert not is_void(Owner(f"{machine} {start}", os.getppid()), time.time())


@needs_proc
def test_a_process_that_has_ended_and_was_not_waited_for_counts_as_ended():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    end = time.monotonic() + 30
    while claims._start_of(child.pid) is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert claims._start_of(child.pid) is None
    child.wait()


def test_where_the_system_tells_nothing_the_heartbeat_decides(monkeypatch):
    monkeypatch.setattr(claims, "_machine", lambda: None)
    us = this_process()
    assert us == this_process()
    assert not is_void(us, time.time())
    assert is_void(us, time.time() - 61)


def test_a_stored_run_has_no_claim_left_and_void_claims_go(store):
    put(store, Key("other", "d"), 5, ELSEWHERE, time.time() - 100)
    claim(store, KEY, (0, 1))
    assert count(store) == 2
    store.add(SPEC, [stored_run(spec=SPEC.hash)])
    assert [each.seed for each in held_claims(store, KEY)] == [1]


def test_claims_are_renewed_while_the_owner_works_and_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "BEAT", 0.05)
    store = Store.open(tmp_path / "runs.sqlite")
    with hold_claims(store):
        claim(store, KEY, (0,))
        first, end = held_claims(store, KEY)[0].since, time.monotonic() + 30
        while held_claims(store, KEY)[0].since == first and time.monotonic() < end:
            time.sleep(0.02)
        assert held_claims(store, KEY)[0].since > first
    assert count(store) == 0
    store.close()


def test_the_runs_of_a_process_that_died_elsewhere_are_taken_over(work, store, monkeypatch):
    put(store, work.key, 1, ELSEWHERE)

    def a_minute_passes(_seconds):
        store.connection.execute("UPDATE claims SET since = since - 60")

    monkeypatch.setattr(executor.time, "sleep", a_minute_passes)
    seen = []
    done = execute([work], store, tell=seen.append)
    assert (done.new, done.elsewhere, count(store)) == (3, 0, 0)
    assert "waiting for 1 runs of another process" in {progress.label for progress in seen}
    assert (seen[-1].finished, seen[-1].total) == (3, 3)


def test_what_a_living_process_works_on_is_left_to_it(work, store, monkeypatch):
    put(store, work.key, 1, ELSEWHERE)

    def beat(_seconds):
        store.connection.execute("UPDATE claims SET since = since + 0.001")

    monkeypatch.setattr(executor.time, "sleep", beat)
    seen = []
    done = execute([work], store, tell=seen.append)
    assert (done.new, done.elsewhere) == (2, 1)
    assert (seen[-1].finished, seen[-1].total) == (2, 3)


def test_what_a_living_process_finishes_meanwhile_counts(work, store, monkeypatch):
    put(store, work.key, 1, ELSEWHERE)

    def finish(_seconds):
        store.add(work.spec, [stored_run(spec=work.key.spec, data=work.key.data, seed=1)])

    monkeypatch.setattr(executor.time, "sleep", finish)
    done = execute([work], store)
    assert (done.new, done.elsewhere) == (2, 0)
