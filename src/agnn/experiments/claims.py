"""Which runs a process is busy with, so that a second one on the same store takes others."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from typing import Final

from agnn.experiments.store import Store
from agnn.experiments.stored_run import Key

_FORGOTTEN: Final = 24 * 3600.0  # seconds after which a claim of another machine counts no more


def claim(store: Store, key: Key, seeds: Sequence[int]) -> tuple[int, ...]:
    """Those of `seeds` that are neither finished nor another process's; they are ours now."""
    host, process = socket.gethostname(), os.getpid()
    with store.writing() as connection:
        open_seeds = store.missing(key, seeds)
        held = connection.execute(
            "SELECT seed, host, process, since FROM claims WHERE spec = ? AND data = ?",
            (key.spec, key.data),
        )
        others = {
            seed for seed, owner, number, since in held
            if (owner, number) != (host, process) and is_alive(owner, number, since)
        }  # fmt: skip
        ours = tuple(seed for seed in open_seeds if seed not in others)
        connection.executemany(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)",
            [(key.spec, key.data, seed, host, process, time.time()) for seed in ours],
        )
    return ours


def release(store: Store) -> None:
    """Give up all claims of this process."""
    with store.writing() as connection:
        connection.execute(
            "DELETE FROM claims WHERE host = ? AND process = ?",
            (socket.gethostname(), os.getpid()),
        )


def is_alive(host: str, process: int, since: float) -> bool:
    """Whether a claim still counts: its process runs, or it is another machine's and recent."""
    if host != socket.gethostname():
        return time.time() - since < _FORGOTTEN
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs, as another user's
        return True
    return True
