"""`agnn train` on several real processes: same bits, failures that name the rank, torchrun."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
import torch

from agnn.cli import main
from agnn.distributed._meeting import open_store
from agnn.distributed._ranks import engine_of, rank_device
from agnn.executors import LaunchedRank

WORDS = ["train", "cora", "--epochs", "12", "--quiet", "--json"]
TIMEOUT = "10"  # seconds: on a loaded machine ranks take longer than 3 to meet


def start(folder: Path, *words: str, program: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, *program, "-m", "agnn", *words], cwd=folder, env=places, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def bits(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def ranks_of(process: subprocess.Popen[str], count: int) -> list[psutil.Process]:
    """The processes of the ranks, in their order, once they train."""
    found = psutil.Process(process.pid).children(recursive=True)
    working = [each for each in found if "resource_tracker" not in " ".join(each.cmdline())]
    assert len(working) == count
    return sorted(working, key=lambda each: each.create_time())


def await_file(file: Path, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 240
    while not file.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert file.exists(), process.communicate(timeout=60)[1]


def two_ranks(
    folder: Path, *, replicas: int = 1
) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A long training on two ranks that has written a checkpoint, and the ranks."""
    words = ["train", "cora", "--epochs", "100000", "--replicas", str(replicas), "--divide", "rows"]
    process = start(folder, *words, "--ranks", "2", "--out", "run", "--checkpoint", "0s")
    await_file(folder / "run.checkpoint", process)
    return process, ranks_of(process, 2)


def failure_of(process: subprocess.Popen[str], ranks: list[psutil.Process]) -> str:
    """The last line of a training that ends with an error, and all its ranks with it."""
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2, said
    assert not any(each.is_running() and each.status() != "zombie" for each in ranks)
    return said.strip().splitlines()[-1]


def test_rows_on_two_processes_have_the_bits_of_one_and_make_an_ordinary_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["--divide", "rows", "--replicas", "2"]
    assert main([*WORDS, *rows, "--ranks", "1", "--out", str(tmp_path / "one")]) == 0
    process = start(tmp_path, *WORDS, *rows, "--ranks", "2", "--out", "two")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert bits(tmp_path / "two") == bits(tmp_path / "one")
    capsys.readouterr()
    assert main(["explain", str(tmp_path / "two"), "1131150", "--json"]) == 0
    assert "1131150" in capsys.readouterr().out


def test_replicas_on_two_processes_have_the_bits_of_one(tmp_path: Path) -> None:
    assert main([*WORDS, "--replicas", "3", "--out", str(tmp_path / "one")]) == 0
    process = start(tmp_path, *WORDS, "--replicas", "3", "--ranks", "2", "--out", "two")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert bits(tmp_path / "two") == bits(tmp_path / "one")


def test_divided_replicas_go_on_with_another_number_of_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "cora", "--epochs", "400", "--replicas", "3", "--quiet", "--json"]
    assert main([*words, "--out", str(tmp_path / "one")]) == 0
    process = start(tmp_path, *words, "--ranks", "2", "--out", "two", "--checkpoint", "0s")
    for piece in ("1of2", "2of2"):
        await_file(tmp_path / f"two.checkpoint-{piece}", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "two.checkpoint-" in said
    assert said.strip().endswith("The same command with --resume (`resume=True`) continues it.")
    pieces = sorted(tmp_path.glob("two.checkpoint-*"))
    assert [each.name for each in pieces] == ["two.checkpoint-1of2", "two.checkpoint-2of2"]
    resumed = [*words, "--ranks", "1", "--out", str(tmp_path / "two"), "--checkpoint", "1h"]
    capsys.readouterr()
    assert main(resumed) == 2  # they would be lost
    assert "unfinished training" in capsys.readouterr().err
    other = tmp_path / "two.checkpoint-1of5"
    other.touch()
    assert main([*resumed, "--resume"]) == 2
    assert "a training in 2 pieces and of one in 5" in capsys.readouterr().err
    other.unlink()
    whole = pieces[1].read_bytes()
    pieces[1].write_bytes(whole[:100])  # it is read, not begun again
    assert main([*resumed, "--resume"]) == 2
    assert pieces[1].name in capsys.readouterr().err
    pieces[1].write_bytes(whole)
    assert main([*resumed, "--resume"]) == 0
    assert bits(tmp_path / "two") == bits(tmp_path / "one")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "two"]


def test_divided_replicas_of_a_killed_process_are_continued_by_another(tmp_path: Path) -> None:
    words = ["train", "cora", "--epochs", "400", "--replicas", "3", "--quiet", "--json"]
    assert main([*words, "--out", str(tmp_path / "one")]) == 0
    process = start(tmp_path, *words, "--ranks", "2", "--out", "two", "--checkpoint", "0s")
    await_file(tmp_path / "two.checkpoint-2of2", process)
    ranks_of(process, 2)[1].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert bits(tmp_path / "two") == bits(tmp_path / "one")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "two"]


class Gpu(NamedTuple):
    uuid: str


@pytest.mark.parametrize(
    ("visible", "engine", "device"),
    [
        (["abcd"] * 4, "nccl", "cuda:3"),
        (["ab"] * 4, "gloo", "cuda:1"),
        (["a"] * 4, "gloo", "cuda:0"),
        (["a", "b", "c", "d"], "nccl", "cuda:0"),  # as Slurm shows them
        (["a", "b", "c", "a"], "gloo", "cuda:0"),
    ],
)
def test_nccl_is_used_where_every_rank_has_a_gpu_of_its_own(
    visible: list[str], engine: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    identities = []
    for rank, gpus in enumerate(visible):
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: len(gpus))
        monkeypatch.setattr(
            torch.cuda, "get_device_properties", lambda index, gpus=gpus: Gpu(gpus[index])
        )
        chosen, identity = rank_device(LaunchedRank(rank, 4, rank, 4), "cuda")
        identities.append(identity)
    assert chosen == device
    assert engine_of(identities) == engine
    assert engine_of([*identities[:3], ""]) == "gloo", "a rank computes on its CPU"
    assert rank_device(LaunchedRank(1, 4, 1, 4), "cpu") == ("cpu", "")


def test_a_killed_rank_ends_the_others_and_is_named(tmp_path: Path) -> None:
    process, ranks = two_ranks(tmp_path)
    ranks[1].send_signal(signal.SIGKILL)
    last = failure_of(process, ranks)
    assert last.startswith("error: rank 1 of 2 was killed by signal 9 (SIGKILL)"), last
    assert "--resume continues it" in last
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.checkpoint"]


def test_ranks_listen_on_this_machine_alone(tmp_path: Path) -> None:
    process, ranks = two_ranks(tmp_path)
    with process:
        sockets = [each for rank in ranks for each in rank.net_connections()]
        process.kill()
    psutil.wait_procs(ranks, timeout=240)
    listening = [each.laddr for each in sockets if each.status == psutil.CONN_LISTEN]
    assert len(listening) >= 3  # the store, and both ranks
    assert {address.ip for address in listening} == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("host", "is_open"),
    [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)],  # noqa: S104
)
def test_a_store_on_loopback_is_not_reached_by_another_address(host: str, is_open: bool) -> None:
    """127.0.0.2 stands for another address of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    store = open_store(LaunchedRank(0, 1, host=host, port=port), 30, is_master=True)
    store.set("key", "ours")
    try:
        with socket.create_connection(("127.0.0.2", port), timeout=30):
            is_reached = True
    except ConnectionRefusedError:
        is_reached = False
    assert is_reached == is_open
    assert store.get("key") == b"ours"


def test_ranks_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    process, ranks = two_ranks(tmp_path)
    with process:  # not `communicate`: ranks that are left would keep its output open
        process.kill()
    _, left = psutil.wait_procs(ranks, timeout=120)
    for each in left:
        each.kill()
    assert left == []


@pytest.mark.parametrize(("silent", "is_late"), [(1, True), (1, False), (0, False)])
def test_a_silent_rank_ends_the_others_and_is_named(
    silent: int, is_late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGNN_RANK_TIMEOUT", TIMEOUT)
    process, ranks = two_ranks(tmp_path)
    if is_late:
        time.sleep(1.0)  # for more messages than the first ones
    ranks[silent].send_signal(signal.SIGSTOP)
    last = failure_of(process, ranks)
    expected = f"error: rank {silent} of 2 did not answer for {TIMEOUT} seconds and was ended."
    assert last.startswith(expected), last
    assert "--resume continues it" in last


def test_a_rank_that_cannot_allocate_says_so(tmp_path: Path) -> None:
    process, ranks = two_ranks(tmp_path, replicas=40)
    ranks[1].rlimit(psutil.RLIMIT_DATA, (2**20, 2**20))  # what it has stays; it gets no more
    last = failure_of(process, ranks)
    # The C library ends a process that cannot even start a thread, before Python knows.
    words = ("it has too little memory for its part; use more ranks", "perhaps for lack of memory")
    assert last.startswith("error: rank 1 of 2 failed: it "), last
    assert any(each in last for each in words)
    assert "The other one was ended." in last


def test_torchrun_goes_on_from_the_checkpoint_after_a_rank_was_killed(tmp_path: Path) -> None:
    words = ["train", "cora", "--epochs", "40", "--replicas", "1"]
    assert main([*words, "--ranks", "1", "--divide", "rows", "--quiet", "--out",
                 str(tmp_path / "one")]) == 0  # fmt: skip
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1")
    process = start(tmp_path, *words, "--out", "two", "--checkpoint", "0s", program=torchrun)
    await_file(tmp_path / "two.checkpoint", process)
    ranks_of(process, 2)[1].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert bits(tmp_path / "two") == bits(tmp_path / "one")
    assert not (tmp_path / "two.checkpoint").exists()
    assert said.count("Training AGNN on cora") == 2, said


def test_a_silent_rank_of_torchrun_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGNN_RANK_TIMEOUT", TIMEOUT)
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "3")
    words = ["train", "cora", "--epochs", "100000", "--replicas", "1", "--checkpoint", "0s"]
    process = start(tmp_path, *words, "--out", "run", program=torchrun)
    await_file(tmp_path / "run.checkpoint", process)
    found = ranks_of(process, 3)
    stopped = next(each for each in found if each.environ()["RANK"] == "0")
    stopped.send_signal(signal.SIGSTOP)
    try:
        end = time.monotonic() + 120
        others = [each for each in found if each != stopped]
        while any(each.is_running() and each.status() != "zombie" for each in others):
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        stopped.kill()
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    assert lines == [f"error: rank 0 of 3 did not answer for {TIMEOUT} seconds."], said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "0"], "`ranks` must be at least 1; got 0."),
        (["--divide", "rows"], "--divide and --wire are for trainings with --ranks"),
        (
            ["--ranks", "2", "--divide", "columns"],
            "(--divide) takes rows or replicas; got",
        ),
        (["--ranks", "2", "--wire", "int8"], "(--wire) takes float32 or bfloat16; got 'int8'"),
        (["--ranks", "99", "--divide", "rows"], "2,708 nodes is divided into 1 to 64 parts"),
        (["--ranks", "2", "--method", "label_propagation"], "does not train a network"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "cora", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert message in said
    assert len(said.strip().splitlines()) == 1
