"""Ctrl-C, a full disk and a reader that leaves, each in a real process."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import sys
import agnn.studies._executor as executor
from agnn.cli import main
executor._MOST, executor._LEAST = 5, 5  # small batches, so that there is something to interrupt
sys.exit(main())
"""
LIMITED = """
import resource, sys
from agnn.cli import main
main(["doctor", "--json"])  # compiles; only the store is to meet the limit
main(["train", "cora", "--epochs", "1", "--replicas", "1", "--quiet"])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
sys.exit(main())
"""
TABLE = """
title = "Long"
seeds = 4000
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "AGNN"
method = "agnn"
paper = [""]
fields = { epochs = 8 }
"""


def start(folder: Path, *words: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-c", program, *words], cwd=folder, env=places, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # Background jobs of a shell ignore SIGINT, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def count(store: Path, table: str) -> int:
    if not store.exists():
        return 0
    connection = sqlite3.connect(store, timeout=30)
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608
    except sqlite3.OperationalError:  # not there yet
        return 0
    finally:
        connection.close()


def interrupted(process: subprocess.Popen[str], is_time: Callable[[], bool]) -> str:
    """What the process says after Ctrl-C, which comes when it is time."""
    end = time.monotonic() + 120
    while not is_time() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    return said


def test_ctrl_c_in_reproduce_says_what_is_kept_and_how_to_go_on(agnn: Any, here: Path) -> None:
    (here / "long.toml").write_text(TABLE, encoding="utf-8")
    store = here / "reproduction" / "runs.sqlite"
    process = start(here, "reproduce", "long.toml", "--quiet", "--threads", "1")
    said = interrupted(process, lambda: count(store, "runs") >= 10)
    found = re.search(
        r"interrupted: (\d+) of 4000 runs are finished and kept in 'reproduction/runs.sqlite'; "
        r"the same command continues from there\.",
        said,
    )
    assert found is not None, said
    kept = count(store, "runs")
    assert int(found[1]) == kept >= 10
    assert count(store, "claims") == 0
    answer = agnn(f"reproduce long.toml --quiet --seeds {kept + 2}")
    assert (answer.code, answer.err) == (0, "")
    assert count(store, "runs") == kept + 2


def test_ctrl_c_in_a_long_training_keeps_a_checkpoint_and_says_how_to_go_on(here: Path) -> None:
    process = start(
        here, "train", "cora", "--epochs", "10000000", "--replicas", "1", "--out", "run",
        "--threads", "1",
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()  # comes after the first epoch
    assert line.startswith("Training AGNN on cora")
    time.sleep(1.0)  # some more, from which the program knows that this takes long
    said = interrupted(process, lambda: True)
    assert "interrupted: the training was stopped; its state after epoch" in said
    assert "The same command with --resume (`resume=True`) continues it." in said
    assert [each.name for each in here.iterdir()] == ["run.checkpoint"]


def test_a_store_that_meets_the_end_of_the_disk_is_one_line(agnn: Any, here: Path) -> None:
    """The limit on the size of a file stands for the end of the disk; it needs no rights."""
    resource = pytest.importorskip("resource")
    assert resource.RLIMIT_FSIZE
    (here / "long.toml").write_text(TABLE, encoding="utf-8")
    words = ["reproduce", "long.toml", "--quiet", "--threads", "1", "--seeds", "200"]
    process = start(here, "120000", *words, program=LIMITED)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2, said
    assert "Traceback" not in said
    assert said.count("error: ") == 1
    assert "the store 'reproduction/runs.sqlite' cannot be written" in said
    assert "damaged" not in said
    store = here / "reproduction" / "runs.sqlite"
    kept = count(store, "runs")
    answer = agnn(f"reproduce long.toml --quiet --seeds {kept + 2}")
    assert (answer.code, answer.err) == (0, "")
    assert count(store, "runs") == kept + 2


@pytest.mark.parametrize("words", ["methods", "methods --json", "--help"])
def test_a_reader_that_leaves_is_no_error(here: Path, words: str) -> None:
    process = start(here, *words.split())
    assert process.stdout is not None
    process.stdout.close()  # before the program has written anything
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=300), said) == (0, "")


TERMINATED = """
import os, signal, sys
from agnn.cli import main
from agnn.runs import _folder
write = _folder._write
number = getattr(signal, sys.argv.pop())

def write_and_terminate(*given):
    write(*given)
    os.kill(os.getpid(), number)

_folder._write = write_and_terminate
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_while_the_run_is_written_lets_it_be_completed(
    number: str, code: int, agnn: Any, here: Path
) -> None:
    words = ["train", "cora", "--epochs", "2", "--replicas", "1", "--out", "runs/mine", "--quiet"]
    process = start(here, *words, number, program=TERMINATED)
    _, said = process.communicate(timeout=300)
    assert process.returncode == code, said
    assert said == "\ninterrupted: the training has ended; its run is in 'runs/mine'.\n"
    assert [path.name for path in (here / "runs").iterdir()] == ["mine"]
    assert agnn("predict runs/mine --out predictions.csv").code == 0
