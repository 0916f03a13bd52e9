"""`agnn train --checkpoint` and `--resume`, in real processes that are stopped and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}


def test_killed_trainings_end_with_the_same_bits(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, str(HERE / "killed_trainings.py"), str(tmp_path), "4"],
        env=environment(), capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "4 kills" in done.stdout
    assert done.stdout.endswith(" 0 with other bits\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_writes_a_last_checkpoint_and_says_how_to_go_on(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    words = ["train", "cora", "--replicas", "1", "--epochs", "100000", "--checkpoint", "0s"]
    process = subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-m", "agnn", *words, "--out", "run"], cwd=tmp_path, env=environment(),
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    file, end = tmp_path / "run.checkpoint", time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    before = file.stat().st_mtime_ns
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "run.checkpoint'. The same command with --resume continues it." in said
    assert file.stat().st_mtime_ns >= before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.checkpoint"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume"], "--resume needs --out"),
        (["--checkpoint", "5m"], "--checkpoint needs --out"),
        (["--out", "run", "--resume"], "there is no checkpoint '.*run.checkpoint' to continue"),
        (
            ["--out", "run", "--checkpoint", "soon"],
            "takes a duration such as 30s, 5m or 2h; got 'soon'",
        ),
        (
            ["--out", "run", "--checkpoint", "5m", "--method", "label_propagation"],
            "--checkpoint is for methods that train a network, not label_propagation",
        ),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, agnn: Any, here: Path) -> None:
    import re

    result = agnn("train", "cora", *words)
    assert result.code == 2
    assert re.search(message, result.err), result.err
    assert list(here.iterdir()) == []
