"""Several processes as one: the result of the first, and one error that says what happened."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.distributed._meeting import LostRankError
from agnn.distributed._processes import _cause, resume_hint, run_together, stop_at_sigterm
from agnn.errors import DataError, InputError, StoppedError, UnavailableError
from agnn.executors import LaunchedRank
from agnn.training import Checkpoints

Told = Callable[[int, int], None]


def count_and_square(launched: LaunchedRank, payload: int, progress: Told) -> Any:
    """More than a pipe holds, from every rank."""
    for done in (1, 2):
        progress(done, 2)
        time.sleep(0.2)
    return launched, np.full(10**6, payload**2)


def fail_on_one(launched: LaunchedRank, failure: str, _: Told) -> None:
    """Rank 1 fails, and rank 0 then notices that it is gone."""
    if launched.rank == 0:
        time.sleep(1)
        raise LostRankError("rank 0 lost the others: the connection was closed.")
    if failure == "input":
        raise InputError("the part is not for this rank.")
    if failure == "file":
        raise FileNotFoundError(2, "No such file or directory", "parts/columns.npy")
    if failure == "memory":
        raise MemoryError
    if failure == "crash":
        raise ZeroDivisionError("a mistake of ours")
    if failure == "exit":
        os._exit(7)
    os.kill(os.getpid(), signal.SIGSEGV)


def train_until_stopped(launched: LaunchedRank, file: Path, progress: Told) -> None:
    """Epochs without end; a request to stop ends them with a checkpoint of rank 0."""
    checkpoints = Checkpoints(file, 0.0)
    stop_at_sigterm(checkpoints)
    for epoch in range(1, 10**6):
        progress(epoch, 10**6)
        time.sleep(0.05)
        if launched.rank == 0:
            checkpoints.after_epoch(dict, epoch, 10**6)
        elif checkpoints.is_asked_to_stop:
            raise StoppedError("the training was stopped.")


@pytest.mark.slow
def test_the_result_and_the_progress_of_the_first_rank_come_back() -> None:
    told: list[tuple[int, int]] = []
    launched, squares = run_together(
        count_and_square, [3, 4], threads=1, progress=lambda *epochs: told.append(epochs)
    )
    assert (launched.rank, launched.size, launched.local_rank, launched.local_size) == (0, 2, 0, 2)
    assert np.array_equal(squares, np.full(10**6, 9))
    assert told[-1] == (2, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        ("input", "failed: the part is not for this rank."),
        ("file", "failed: cannot read or write 'parts/columns.npy': No such file or directory."),
        ("memory", "failed: it has too little memory for its part; use more ranks or fewer"),
        ("crash", "failed: its report is above."),
        ("exit", "failed: it ended with code 7, perhaps for lack of memory; its report is above."),
        ("signal", "was killed by signal 11 (SIGSEGV)."),
    ],
)
def test_one_error_names_the_rank_that_failed_first(
    failure: str, cause: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnavailableError) as caught:
        run_together(fail_on_one, [failure] * 2, threads=1)
    message = str(caught.value)
    assert message.startswith(f"rank 1 of 2 {cause}"), message
    assert message.endswith("The other one was ended.")
    assert ("ZeroDivisionError: a mistake of ours" in capfd.readouterr().err) == (
        failure == "crash"
    ), "only what nobody expected has a traceback"


@pytest.mark.slow
def test_a_request_to_stop_reaches_all_processes(tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    checkpoints = Checkpoints(file, 0.0)

    def stop(done: int, _: int) -> None:
        if done > 3:
            checkpoints.request_stop()

    with pytest.raises(StoppedError, match=r"after epoch \d+ is in '.*run.checkpoint'"):
        run_together(
            train_until_stopped, [file] * 2, threads=1, progress=stop, checkpoints=checkpoints
        )
    assert file.exists()
    assert resume_hint(checkpoints) == f" The state is in '{file}'; --resume continues it."


@pytest.mark.parametrize(
    ("error", "code", "report"),
    [
        (LostRankError("rank 1 lost the others."), 3, "rank 1 lost the others."),
        (StoppedError("the training was stopped."), 75, "the training was stopped."),
        (DataError("a part is damaged."), 2, "a part is damaged."),
        (RuntimeError("CUDA out of memory"), 2, "it has too little memory for its part"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 2, "it has too little"),
        (KeyError("x"), 1, ""),
    ],
)
def test_errors_have_exit_codes_and_reports(error: Exception, code: int, report: str) -> None:
    found = _cause(error)
    assert found[0] == code
    assert found[1].startswith(report)
    assert bool(found[1]) == bool(report)


def test_without_a_checkpoint_nothing_is_promised(tmp_path: Path) -> None:
    assert resume_hint(None) == ""
    assert resume_hint(Checkpoints(tmp_path / "none.checkpoint")) == ""
    (tmp_path / "run.checkpoint-1of2").touch()
    assert "run.checkpoint-*'" in resume_hint(Checkpoints(tmp_path / "run.checkpoint"))
