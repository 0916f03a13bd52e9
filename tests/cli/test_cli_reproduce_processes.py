"""Real processes on one store: one is killed, two work at once, and no run is lost or doubled."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agnn.runs import evaluate, preset_method

TABLE = """
title = "Processes"
seeds = {seeds}
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "AGNN"
method = "agnn"
paper = [""]
fields = {{ epochs = 8 }}
"""
# Small batches, so that there is something to interrupt.
PROGRAM = """
import sys
import agnn.studies._executor as executor
from agnn.cli import main
executor._MOST, executor._LEAST = 5, 5
sys.exit(main(["reproduce", "mine.toml", "--threads", "1"]))
"""


def start(folder: Path) -> subprocess.Popen[str]:
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-c", PROGRAM], cwd=folder, env=places, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def finished(folder: Path) -> dict[int, tuple[float, float]]:
    """Seed to accuracy and seconds of the runs in the store."""
    path = folder / "reproduction" / "runs.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(path, timeout=30)
    try:
        found = connection.execute("SELECT seed, accuracy, seconds FROM runs").fetchall()
    except sqlite3.OperationalError:  # the tables are not there yet
        return {}
    finally:
        connection.close()
    assert len({seed for seed, *_ in found}) == len(found)
    return {seed: (accuracy, seconds) for seed, accuracy, seconds in found}


def expected(cora: Any, seeds: int) -> list[float]:
    method = preset_method("agnn", "fixed", "cora").with_fields(epochs=8)
    return list(evaluate(method, cora, "fixed", range(seeds)).accuracy.values)


@pytest.mark.slow
def test_kill_9_loses_no_finished_run_and_the_next_call_goes_on(
    agnn: Any, here: Path, cora: Any
) -> None:
    (here / "mine.toml").write_text(TABLE.format(seeds=400), encoding="utf-8")
    process = start(here)
    end = time.monotonic() + 120
    while len(finished(here)) < 10 and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = finished(here)
    assert 10 <= len(before) < 400, "killed in the middle"
    seeds = len(before) + 7
    answer = agnn(f"reproduce mine.toml --quiet --seeds {seeds}")
    assert (answer.code, answer.err) == (0, "")
    after = finished(here)
    assert {seed: after[seed] for seed in before} == before, "seconds too: none was run again"
    assert [after[seed][0] for seed in range(seeds)] == expected(cora, seeds)


@pytest.mark.slow
def test_two_processes_on_one_store_share_the_work(here: Path, cora: Any) -> None:
    (here / "mine.toml").write_text(TABLE.format(seeds=40), encoding="utf-8")
    processes = [start(here), start(here)]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    found = finished(here)
    assert [found[seed][0] for seed in range(40)] == expected(cora, 40)
