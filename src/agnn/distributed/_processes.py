"""Processes of this machine that work together: started, watched and ended as one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, NamedTuple

from torch import Tensor

from agnn._allocator import keep_freed_memory
from agnn.distributed._meeting import LOST, LostRankError, rank_timeout
from agnn.errors import AgnnError, StoppedError, UnavailableError
from agnn.executors import LaunchedRank, end_with_parent
from agnn.training import Callback, Checkpoints, EpochReport, Progress

# Exit codes of a process, beside LOST.
_CRASHED: Final = 1
_FAILED: Final = 2
_STOPPED: Final = 75
_PATIENCE: Final = 10.0  # seconds for the other processes to end by themselves
_TELL_EVERY: Final = 0.1  # seconds between two reports of progress


class _Epochs(NamedTuple):
    """Progress, as a process reports it."""

    done: int
    total: int


class Parent(Callback):
    """The process that started a rank, which rank 0 tells what happens."""

    def __init__(self, pipe: Connection[Any, Any] | None, *, has_callbacks: bool) -> None:
        self.pipe = pipe  # of rank 0
        self.has_callbacks = has_callbacks and pipe is not None
        self._last_told = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Tell how many epochs are done."""
        now = time.monotonic()
        if self.pipe is not None and (now - self._last_told >= _TELL_EVERY or done == total):
            self._last_told = now
            with contextlib.suppress(OSError):
                self.pipe.send(_Epochs(done, total))

    def epoch(self, report: EpochReport) -> bool:
        """Let the callbacks there have the report; return whether they end the training."""
        assert self.pipe is not None  # noqa: S101 (who has no pipe has no callbacks)
        on_host: dict[str, Any] = {
            name: value.cpu() if isinstance(value, Tensor) else value
            for name, value in vars(report).items()
        }
        # By value: the pipe would share the memory of tensors.
        self.pipe.send_bytes(pickle.dumps(EpochReport(**on_host)))
        return bool(self.pipe.recv())


# What a process runs: its place among the ranks, its payload, and who started it.
Work = Callable[[LaunchedRank, Any, Parent], Any]


def run_together(
    work: Work,
    payloads: Sequence[Any],
    *,
    threads: int,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    callbacks: Sequence[Callback] = (),
) -> Any:
    """Run `work` on one payload in each of several new processes; return what rank 0 gives.

    If one fails, the others are ended and one error says which it was and why. When `checkpoints`
    are asked to stop, all processes are. `progress` and `callbacks` are called in this process.
    """
    listeners = _Listeners(progress, checkpoints, callbacks)
    with tempfile.TemporaryDirectory(prefix="agnn-ranks-") as folder:
        return _run(work, payloads, Path(folder), threads, listeners)


class _Listeners(NamedTuple):
    """Who hears in this process what rank 0 tells."""

    progress: Progress | None
    checkpoints: Checkpoints | None
    callbacks: Sequence[Callback]

    def hear(self, epochs: _Epochs) -> None:
        """Pass progress on."""
        if self.checkpoints is not None:
            self.checkpoints.note_pace(*epochs)
        if self.progress is not None:
            self.progress(*epochs)


def _run(
    work: Work, payloads: Sequence[Any], folder: Path, threads: int, listeners: _Listeners
) -> Any:
    spawn = multiprocessing.get_context("spawn")
    pipe, pipe_of_rank_0 = spawn.Pipe()
    size = len(payloads)
    port = _free_port()
    has_callbacks = bool(listeners.callbacks)
    processes = []
    for rank, payload in enumerate(payloads):
        launched = LaunchedRank(rank, size, rank, size, port=port)
        parent = Parent(pipe_of_rank_0 if rank == 0 else None, has_callbacks=has_callbacks)
        arguments = (work, launched, payload, folder, threads, parent)
        processes.append(spawn.Process(target=_child, args=arguments, daemon=True))
    try:
        for process in processes:
            process.start()
        pipe_of_rank_0.close()
        result = _watch(processes, pipe, listeners)
        _raise_failure(processes, folder, listeners.checkpoints)
        return result
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
        for process in processes:
            if process.pid is not None:
                process.join()
        pipe.close()


def _watch(processes: Sequence[Any], pipe: Connection[Any, Any], listeners: _Listeners) -> Any:
    """Pass progress on until all processes have ended, or one has failed and the rest is ended.

    Returns what rank 0 sent last.
    """
    is_stopping = False
    result = None
    open_pipes: list[Any] = [pipe]
    checkpoints = listeners.checkpoints
    while open_pipes or any(process.is_alive() for process in processes):
        sentinels = [process.sentinel for process in processes if process.is_alive()]
        if pipe in wait([*open_pipes, *sentinels], timeout=0.2):
            try:
                message = pipe.recv()
            except (EOFError, ConnectionError):  # rank 0 has ended
                open_pipes = []
            else:
                if isinstance(message, _Epochs):
                    listeners.hear(message)
                elif isinstance(message, EpochReport):
                    ends = message.tell(listeners.callbacks)
                    with contextlib.suppress(OSError):  # rank 0 may have been killed meanwhile
                        pipe.send(ends)
                else:
                    result = message
        # A rank that has stopped as it was asked to does not hurry the one that writes.
        if any(process.exitcode not in (None, 0, _STOPPED) for process in processes):
            _end(processes)
            break
        if checkpoints is not None and checkpoints.is_asked_to_stop and not is_stopping:
            is_stopping = True
            for process in processes:
                process.terminate()
    return result


def _end(processes: Sequence[Any]) -> None:
    """Let processes end by themselves, which tells more, and then by force."""
    end = time.monotonic() + min(_PATIENCE, rank_timeout())
    while any(process.is_alive() for process in processes) and time.monotonic() < end:
        # Those that only lost another one say nothing about the cause.
        codes = {process.exitcode for process in processes} - {None, 0, LOST}
        wait([process.sentinel for process in processes if process.is_alive()], timeout=0.5)
        if codes:
            end = min(end, time.monotonic() + 5.0)
    for process in processes:
        if process.is_alive():
            process.kill()
            process.join()
            process.was_ended = True


def _raise_failure(processes: Sequence[Any], folder: Path, checkpoints: Checkpoints | None) -> None:
    codes = {rank: process.exitcode for rank, process in enumerate(processes)}
    bad = {rank: code for rank, code in codes.items() if code}
    if not bad:
        return
    if _STOPPED in bad.values():
        raise StoppedError(_report(folder, min(r for r, code in bad.items() if code == _STOPPED)))
    ended = [rank for rank in bad if hasattr(processes[rank], "was_ended")]
    causes = [rank for rank, code in bad.items() if code != LOST and rank not in ended]
    rank = min(causes or ended or bad, key=lambda rank: bad[rank] if bad[rank] < 0 else 1)
    code = bad[rank]
    if rank in ended:  # the others lost it, and it did not end by itself
        cause = f"did not answer for {rank_timeout():.0f} seconds and was ended"
    elif code < 0:
        name = signal.Signals(-code).name
        hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
        cause = f"was killed by signal {-code} ({name}){hint}"
    else:
        report = "its report is above"
        if code != _CRASHED:  # the C library ends a process that cannot even start a thread
            report = f"it ended with code {code}, perhaps for lack of memory; {report}"
        cause = f"failed: {_report(folder, rank) or report}".rstrip(".")
    count = len(codes) - 1
    sentence = f" The other {count} ranks were ended." if count > 1 else " The other one was ended."
    raise UnavailableError(
        f"rank {rank} of {len(codes)} {cause}.{sentence if count else ''}{resume_hint(checkpoints)}"
    )


def resume_hint(checkpoints: Checkpoints | None) -> str:
    """Return the end of an error's message: what there is to continue, if anything."""
    if checkpoints is None or checkpoints.stored is None:
        return ""
    return f" The state is in '{checkpoints.stored}'; --resume continues it."


def _report(folder: Path, rank: int) -> str:
    """Return what a process wrote of its error; nothing for one that crashed."""
    file = folder / f"error-{rank}.txt"
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _child(
    work: Work,
    launched: LaunchedRank,
    payload: Any,
    folder: Path,
    threads: int,
    parent: Parent,
) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is asked, and tells
    end_with_parent()
    keep_freed_memory()
    import torch

    torch.set_num_threads(threads)
    try:
        result = work(launched, payload, parent)
        if parent.pipe is not None:
            parent.pipe.send(result)
    except BaseException as error:
        code, report = _cause(error)
        if report:
            (folder / f"error-{launched.rank}.txt").write_text(report, encoding="utf-8")
        else:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)  # without waiting for connections to ranks that may be gone


def _cause(error: BaseException) -> tuple[int, str]:
    """Return the exit code of a process with this error, and its report; none if unexpected."""
    if isinstance(error, LostRankError):
        return LOST, str(error)
    if isinstance(error, StoppedError):
        return _STOPPED, str(error)
    if isinstance(error, AgnnError):
        return _FAILED, str(error)
    if isinstance(error, OSError):
        return _FAILED, f"cannot read or write '{error.filename}': {error.strerror or error}"
    if isinstance(error, MemoryError) or "allocate" in str(error) or "out of memory" in str(error):
        return _FAILED, "it has too little memory for its part; use more ranks or fewer replicas"
    return _CRASHED, ""


def stop_at_sigterm(checkpoints: Checkpoints) -> None:
    """Let SIGTERM end this process's training after the epoch, with a checkpoint."""
    signal.signal(signal.SIGTERM, lambda *_: checkpoints.request_stop())
