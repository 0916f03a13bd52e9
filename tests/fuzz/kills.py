"""`agnn reproduce` and `agnn train` killed at random moments, and started again.

No finished run may be lost, changed or doubled: a store that was killed many times ends equal to
one that was not. A folder of `train --out` is whole or not there.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from forked import PATIENCE, Result, forked
from inputs import TABLE, TRAIN

_TOML = """
title = "Fuzzing"
seeds = 6
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "GCN"
method = "gcn"
paper = ["81.0"]
fields = { epochs = 3 }
[[rows]]
title = "label propagation"
method = "label_propagation"
paper = ["68.0"]
"""
_REPRODUCE = ["reproduce", "table.toml", "--store", "runs.sqlite", "--out", "out", "--quiet"]
_COLUMNS = "spec, data, seed, method, split, accuracy, selected_epochs, betas, extra"


def failures(
    source: random.Random, base: Path, work: Path, count: int, deadline: float
) -> Iterator[tuple[str, str | None]]:
    """The name of every kill, with what was wrong after it; until the deadline."""
    whole = work / "whole"
    whole.mkdir()
    (whole / "table.toml").write_text(_TOML, encoding="utf-8")
    start = time.monotonic()
    result = _run(_REPRODUCE, whole)
    seconds = time.monotonic() - start
    expected = _rows(whole / "runs.sqlite")
    if result.code or len(expected) != 12:
        raise RuntimeError(f"the uninterrupted run failed: {result.err[-500:]}")
    made = 0
    for number in range(count):
        if made >= count or time.monotonic() > deadline:
            return
        if number % 4 == 3:
            yield _killed_train(source, base, work / f"train-{number}")
            made += 1
        else:
            for name, wrong in _killed_store(source, work / f"store-{number}", seconds, expected):
                yield name, wrong
                made += 1
                if made >= count:
                    return


def _killed_store(
    source: random.Random, folder: Path, seconds: float, expected: list[tuple[object, ...]]
) -> Iterator[tuple[str, str | None]]:
    """One store, killed a few times and then left to finish."""
    folder.mkdir()
    (folder / "table.toml").write_text(_TOML, encoding="utf-8")
    kills, before = source.randint(2, 6), []
    for number in range(kills):
        wrong = None
        result = _run(_REPRODUCE, folder, source.uniform(0.02, 1.1) * seconds)
        if result.code != -signal.SIGKILL:
            wrong = result.complaint(allowed=(0,))
        after = _rows(folder / "runs.sqlite")
        if not set(before) <= set(after):
            wrong = f"lost: {len(set(before) - set(after))} finished runs"
        if not set(after) <= set(expected):
            wrong = "changed: a run that the uninterrupted store does not have"
        before = after
        if number == kills - 1 and wrong is None:
            result = _run(_REPRODUCE, folder)
            after = _rows(folder / "runs.sqlite")
            wrong = result.complaint(allowed=(0,))
            if wrong is None and sorted(after, key=repr) != sorted(expected, key=repr):
                wrong = f"lost or doubled: {len(after)} runs for {len(expected)}"
        yield f"reproduce {folder.name}", wrong


def _killed_train(source: random.Random, base: Path, folder: Path) -> tuple[str, str | None]:
    folder.mkdir()
    tables = ["--nodes", str(base / "nodes.csv"), "--edges", str(base / "edges.csv"), *TABLE]
    command = [*TRAIN, *tables, "--out", "run"]
    start = time.monotonic()
    _run([*command[:-1], "first"], folder)
    seconds = time.monotonic() - start
    _run(command, folder, source.uniform(0.3, 1.0) * seconds)
    if (folder / "run").exists():  # whole, then
        result = _run(["predict", "run", "--out", "predictions.csv"], folder)
        expected = (base / "predictions.csv").read_bytes()
        wrong = result.complaint(allowed=(0,))
        made = folder / "predictions.csv"
        if wrong is None and made.read_bytes() != expected:
            wrong = "wrong load: a killed run gave other predictions"
    else:
        wrong = _run(command, folder).complaint(allowed=(0,))
    return f"train {folder.name}", wrong


def _run(command: list[str], folder: Path, kill_after: float | None = None) -> Result:
    """A command in a fork, killed after some seconds or left to finish."""
    from agnn.cli import main

    for name in ("stdout.txt", "stderr.txt"):
        (folder / name).unlink(missing_ok=True)
    process = forked(lambda: main(command), folder)
    end = time.monotonic() + (PATIENCE if kill_after is None else kill_after)
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            break
        time.sleep(0.002)
    texts = (
        path.read_text(encoding="utf-8") if path.exists() else ""
        for path in (folder / "stdout.txt", folder / "stderr.txt")
    )
    return Result(os.waitstatus_to_exitcode(status), *texts)


def _rows(store: Path) -> list[tuple[object, ...]]:
    if not store.exists():
        return []
    with contextlib.closing(sqlite3.connect(store)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE name = 'runs'").fetchall()
        return connection.execute(f"SELECT {_COLUMNS} FROM runs").fetchall() if names else []  # noqa: S608 (our own names)
