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
    assert "run.checkpoint'. The same command with --resume (`resume=True`) continues" in said
    assert file.stat().st_mtime_ns >= before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.checkpoint"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume"], r"\(--resume\) needs `out` \(--out\)"),
        (["--checkpoint", "5m"], r"\(--checkpoint\) needs `out` \(--out\)"),
        (["--out", "run", "--resume"], "there is no checkpoint '.*run.checkpoint' to continue"),
        (
            ["--out", "run", "--checkpoint", "soon"],
            "takes a duration such as 30s, 5m or 2h; got 'soon'",
        ),
        (
            ["--out", "run", "--checkpoint", "5m", "--method", "label_propagation"],
            r"\(--checkpoint\) is for methods that train a network, not label_propagation",
        ),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, agnn: Any, here: Path) -> None:
    import re

    result = agnn("train", "cora", *words)
    assert result.code == 2
    assert re.search(message, result.err), result.err
    assert list(here.iterdir()) == []


LIMITED = """
import resource, sys
from agnn.cli import main

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
    sys.exit(main())
"""


@pytest.mark.parametrize("division", [(), ("--ranks", "2", "--divide", "rows")])
def test_a_full_disk_warns_once_and_the_run_is_written(
    division: tuple[str, ...], tmp_path: Path
) -> None:
    """The limit on the size of a file stands for the end of the disk: a run is under it."""
    (tmp_path / "limited.py").write_text(LIMITED, encoding="utf-8")
    words = [
        "train", "cora", "--method", "gcn", "--replicas", "1", "--epochs", "5",
        "--checkpoint", "0s", "--out", "runs/mine", "--quiet", *division,
    ]  # fmt: skip
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, "limited.py", "200000", *words], cwd=tmp_path, env=environment(),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: the checkpoint") == 1
    assert (
        "mine.checkpoint' cannot be written (File too large); the training goes on" in done.stderr
    )
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine"]


def test_a_second_training_into_the_same_folder_is_refused(agnn: Any, here: Path) -> None:
    words = ["train", "cora", "--replicas", "1", "--epochs", "100000", "--checkpoint", "0s"]
    process = subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-m", "agnn", *words, "--out", "runs/mine", "--quiet"], cwd=here,
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    file, end = here / "runs" / "mine.checkpoint", time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    try:
        second = agnn(" ".join(words), "--out", "runs/mine", "--resume", "--quiet")
    finally:
        process.kill()
        process.communicate()
    assert second.code == 2
    assert "another process is writing" in second.err
    assert file.exists()
