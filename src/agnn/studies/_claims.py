"""Claims: the unfinished runs that a process is working on, so that another one takes others.

A claim names its owner and carries a heartbeat that the owner renews while it works. It is void as
soon as its owner is known to have ended, and in any case a minute after the last heartbeat: neither
a renamed machine nor a process id that is in use again can hold a run back. Storing a run removes
its claim.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from agnn.studies._store import Store, StoreWriteError
from agnn.studies._works import Key

BEAT: Final = 10.0  # seconds between two heartbeats
EXPIRY: Final = 60.0  # seconds after the last heartbeat at which a claim is void


class Owner(NamedTuple):
    """A process that can be told from every other one, now and later.

    `host` holds the boot of the machine, the namespace of its process ids and the start time of
    the process; where the system does not tell these, a random text, and the heartbeat decides.
    """

    host: str
    process: int


class Held(NamedTuple):
    """A run that is claimed: its owner and the time of the last heartbeat."""

    seed: int
    owner: Owner
    since: float


def claim(store: Store, key: Key, seeds: Sequence[int]) -> tuple[int, ...]:
    """Claim and return those of `seeds` that are neither finished nor held by another process."""
    us = this_process()
    now = time.time()
    with store.writing() as connection:
        _remove_void(connection)
        held_elsewhere = {held.seed for held in held_claims(store, key) if held.owner != us}
        claimed = tuple(seed for seed in store.missing(key, seeds) if seed not in held_elsewhere)
        connection.executemany(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)",
            [(key.spec, key.data, seed, *us, now) for seed in claimed],
        )
    return claimed


def held_claims(store: Store, key: Key) -> list[Held]:
    """Return the claims on the runs of this key."""
    rows = store.connection.execute(
        "SELECT seed, host, process, since FROM claims WHERE spec = ? AND data = ?",
        (key.spec, key.data),
    )
    return [Held(seed, Owner(host, process), since) for seed, host, process, since in rows]


@contextmanager
def hold_claims(store: Store) -> Iterator[None]:
    """Renew the claims of this process while the block runs, and give them up at its end."""
    ended = threading.Event()
    thread = threading.Thread(target=_beat, args=(store.name, ended), daemon=True)
    if store.is_file:  # nobody else sees a store in memory
        thread.start()
    try:
        yield
    finally:
        ended.set()
        # A store that cannot be written keeps the claims for a minute; the error that says so
        # is already on its way.
        with suppress(sqlite3.Error, StoreWriteError), store.writing() as connection:
            connection.execute("DELETE FROM claims WHERE host = ? AND process = ?", this_process())


def _beat(file: str, ended: threading.Event) -> None:
    """Renew the claims of this process until `ended`; a connection serves one thread only."""
    while not ended.wait(BEAT):
        # A beat that fails is made up for by the next.
        with suppress(sqlite3.Error):
            connection = sqlite3.connect(file, timeout=BEAT, isolation_level=None)
            try:
                connection.execute(
                    "UPDATE claims SET since = ? WHERE host = ? AND process = ?",
                    (time.time(), *this_process()),
                )
            finally:
                connection.close()


def _remove_void(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT DISTINCT host, process, since FROM claims").fetchall()
    void = [row for row in rows if is_void(Owner(*row[:2]), row[2])]
    connection.executemany("DELETE FROM claims WHERE host = ? AND process = ? AND since = ?", void)


def is_void(owner: Owner, since: float) -> bool:
    """Return whether a claim no longer counts: it has expired, or its owner has ended."""
    if abs(time.time() - since) > EXPIRY:  # a heartbeat of the future is a clock set back
        return True
    machine, _, start = owner.host.rpartition(" ")
    return machine != "" and machine == _machine() and start != _start_of(owner.process)


@cache
def _random() -> str:
    return uuid.uuid4().hex


def this_process() -> Owner:
    """Return the owner of this process's claims."""
    machine = _machine()
    start = _start_of(os.getpid())
    is_known = machine is not None and start is not None
    return Owner(f"{machine} {start}" if is_known else _random(), os.getpid())


def _machine() -> str | None:
    """Return where a process id means one process at a time; None if the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _start_of(process: int) -> str | None:
    """Return when a process started, in ticks since the boot; None if there is no such process."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in "ZX" else fields[18]  # the 22nd field of all, in proc(5)
