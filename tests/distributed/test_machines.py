"""Training on three machines: failures that end all of them, and restarts that go on."""

from __future__ import annotations

import hashlib
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from machines import COUNT, Machines, end_all, three_machines, worker_of

from agnn.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "cora"
    assert main(["partition", "cora", "--parts", "3", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def machines() -> Iterator[Machines]:
    with three_machines() as made:
        yield made


def messages(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    """The errors that are printed on every machine, once all have ended."""
    try:
        said = [process.communicate(timeout=240)[1] for process in processes]
    finally:
        end_all(processes)
    assert all(process.returncode != 0 for process in processes), said
    lines = [[line for line in text.splitlines() if line.startswith("error: ")] for text in said]
    assert all(lines), said
    return lines


def is_alive(process: psutil.Process) -> bool:
    """Whether a process runs; torchrun may be too busy to bury it."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def await_checkpoint(folder: Path, processes: list[subprocess.Popen[str]]) -> None:
    end = time.monotonic() + 240
    while not (folder / "run.checkpoint").exists() and time.monotonic() < end:
        assert all(process.poll() is None for process in processes)
        time.sleep(0.02)


def test_a_damaged_part_of_one_machine_ends_all_with_one_message(
    parts: Path, machines: Machines, tmp_path: Path
) -> None:
    """Every machine has the files about all nodes; the last one's labels are damaged."""
    own = [tmp_path / f"machine-{k}" for k in range(COUNT)]
    for folder in own:
        shutil.copytree(parts, folder / "parts")
    labels = own[2] / "parts" / "labels.npy"
    labels.write_bytes(labels.read_bytes()[:-1] + b"\1")
    words = ["train", "parts", "--method", "gcn", "--epochs", "3", "--quiet", "--out", "run"]
    lines = messages([machines.start(k, own[k], *words) for k in range(COUNT)])
    assert (
        lines[2][0]
        == "error: rank 2: 'parts/labels.npy' is damaged: its content is not what was written."
    )
    expected = f"error: rank 2 of 3 failed: {lines[2][0].removeprefix('error: rank 2: ')}"
    assert lines[0] == lines[1] == [expected]


def test_another_training_on_one_machine_ends_all_with_one_message(
    parts: Path, machines: Machines, tmp_path: Path
) -> None:
    words = ["train", str(parts), "--method", "gcn", "--epochs", "3", "--quiet", "--out", "run"]
    other = [[], ["--wire", "bfloat16"], []]
    lines = messages([machines.start(k, tmp_path, *words, *other[k]) for k in range(COUNT)])
    assert lines[0] == lines[1] == lines[2]
    (line,) = lines[0]
    assert line.startswith("error: rank 1 has another training than rank 0: wire ")


def test_a_rank_that_is_killed_is_started_again_and_all_go_on(
    parts: Path, machines: Machines, tmp_path: Path
) -> None:
    words = ["train", str(parts), "--method", "gcn", "--epochs", "60", "--quiet"]
    assert main([*words, "--ranks", "1", "--out", str(tmp_path / "one")]) == 0
    words += ["--out", "run", "--checkpoint", "0s"]
    again = ("--max-restarts", "3", "--monitor-interval", "0.5")
    processes = [machines.start(k, tmp_path, *words, torchrun=again) for k in range(COUNT)]
    try:
        await_checkpoint(tmp_path, processes)
        worker_of(processes[1]).send_signal(signal.SIGKILL)
        said = [process.communicate(timeout=300) for process in processes]
    finally:
        end_all(processes)
    assert [process.returncode for process in processes] == [0] * COUNT, said
    bits = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "run")]
    assert hashlib.sha256(bits[0]).digest() == hashlib.sha256(bits[1]).digest()
    assert not (tmp_path / "run.checkpoint").exists()


def test_a_machine_that_is_cut_off_ends_and_so_do_the_others(
    parts: Path, machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not machines.can_cut:
        pytest.skip("network namespaces cannot be made here")
    monkeypatch.setenv("AGNN_RANK_TIMEOUT", "10")
    words = ["train", str(parts), "--method", "gcn", "--epochs", "100000", "--quiet"]
    words += ["--out", "run", "--checkpoint", "0s"]
    processes = [machines.start(k, tmp_path, *words) for k in range(COUNT)]
    try:
        await_checkpoint(tmp_path, processes)
        machines.cut(2)
        ranks = [worker_of(process) for process in processes]
        end = time.monotonic() + 180
        while any(map(is_alive, ranks)) and time.monotonic() < end:
            time.sleep(0.1)
        still_there = [is_alive(rank) for rank in ranks]
    finally:
        for process in processes:  # torchrun itself waits for the others for long
            process.kill()
    assert still_there == [False] * COUNT
    said = [process.communicate(timeout=60)[1] for process in processes]
    lines = [[line for line in text.splitlines() if line.startswith("error: ")] for text in said]
    lost = "error: rank 2 of 3 did not answer for 10 seconds."
    assert lines[:2] == [[lost], [lost]], said
    (cut_off,) = lines[2]
    pattern = r"error: 10\.77\.0\.1:\d+, where the ranks meet, did not answer for 10 seconds\."
    assert re.fullmatch(pattern, cut_off)


def test_machines_with_their_own_parts_give_a_whole_run(
    parts: Path, machines: Machines, tmp_path: Path
) -> None:
    folders = [tmp_path / str(number) for number in range(COUNT)]
    for number, folder in enumerate(folders):
        others = [f"part-{other:05d}" for other in range(COUNT) if other != number]
        shutil.copytree(parts, folder / "parts", ignore=shutil.ignore_patterns(*others))
    words = ["train", "parts", "--method", "gcn", "--epochs", "3", "--quiet", "--out", "run"]
    processes = [machines.start(k, folder, *words) for k, folder in enumerate(folders)]
    try:
        said = [process.communicate(timeout=240)[1] for process in processes]
    finally:
        end_all(processes)
    assert all(process.returncode == 0 for process in processes), said
    assert [(folder / "run").exists() for folder in folders] == [True, False, False]
    assert not any(path.name.endswith(".draft") for folder in folders for path in folder.iterdir())
    out = folders[0] / "predictions.csv"
    assert main(["predict", str(folders[0] / "run"), "--out", str(out)]) == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2708 + 1
    # The rest of the graph is elsewhere: what needs it says so.
    assert main(["explain", str(folders[0] / "run"), "35"]) == 2
