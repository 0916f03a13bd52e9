"""Processes of this machine that work together: started, watched and ended as one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from agnn._allocator import keep_freed_memory
from agnn.distributed._executors import end_with_parent
from agnn.distributed._ranks import LostRankError, silence
from agnn.errors import AgnnError, StoppedError, UnavailableError
from agnn.training import Checkpoints, Progress

_FAILED, _CRASHED, _LOST, _STOPPED = 2, 1, 3, 75  # exit codes
_PATIENCE: Final = 10.0  # seconds for the other processes to end by themselves
_TELL_EVERY: Final = 0.1  # seconds between two reports of progress

# What a process runs: its number, its payload, and what it calls after every epoch.
Work = Callable[[int, Any, Progress], None]


def run_together(
    work: Work,
    payloads: Sequence[Any],
    folder: Path,
    *,
    threads: int,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> None:
    """Run `work` on one payload in each of several new processes, until all are done.

    If one fails, the others are ended and one error says which it was and why. Errors pass through
    `folder`. When `checkpoints` are asked to stop, all processes are.
    """
    spawn = multiprocessing.get_context("spawn")
    reader, writer = spawn.Pipe(duplex=False)
    environment = {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(len(payloads)), "LOCAL_WORLD_SIZE": str(len(payloads)),
        "OMP_NUM_THREADS": str(threads),
    }  # fmt: skip
    processes = [
        spawn.Process(
            target=_child,
            args=(work, rank, payload, folder, environment, writer if rank == 0 else None),
            daemon=True,
        )
        for rank, payload in enumerate(payloads)
    ]
    try:
        for process in processes:
            process.start()
        writer.close()
        _watch(processes, reader, progress, checkpoints)
        _raise_failure(processes, folder, checkpoints)
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
        for process in processes:
            if process.pid is not None:
                process.join()
        reader.close()


def _watch(
    processes: Sequence[Any],
    reader: Connection[Any, Any],
    progress: Progress | None,
    checkpoints: Checkpoints | None,
) -> None:
    """Pass progress on until all processes have ended, or one has failed and the rest is ended."""
    is_told = False
    listened: list[Any] = [reader]
    while any(process.is_alive() for process in processes):
        sentinels = [process.sentinel for process in processes if process.is_alive()]
        ready = wait([*listened, *sentinels], timeout=0.2)
        if reader in ready:
            try:
                done, total = reader.recv()
            except EOFError:
                listened = []
            else:
                if checkpoints is not None:
                    checkpoints.note_pace(done, total)
                if progress is not None:
                    progress(done, total)
        # A rank that has stopped as it was asked to does not hurry the one that writes.
        if any(process.exitcode not in (None, 0, _STOPPED) for process in processes):
            _end(processes)
            return
        if checkpoints is not None and checkpoints.is_asked_to_stop and not is_told:
            is_told = True
            for process in processes:
                process.terminate()


def _end(processes: Sequence[Any]) -> None:
    """Let processes end by themselves, which tells more, and then by force."""
    end = time.monotonic() + min(_PATIENCE, silence())
    while any(process.is_alive() for process in processes) and time.monotonic() < end:
        # Those that only lost another one say nothing about the cause.
        codes = {process.exitcode for process in processes} - {None, 0, _LOST}
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
        words = [_words(folder, rank) for rank, code in bad.items() if code == _STOPPED]
        raise StoppedError(words[0])
    ended = [rank for rank in bad if hasattr(processes[rank], "was_ended")]
    causes = [rank for rank, code in bad.items() if code != _LOST and rank not in ended]
    rank = min(causes or ended or bad, key=lambda rank: bad[rank] if bad[rank] < 0 else 1)
    code = bad[rank]
    if rank in ended:  # the others lost it, and it did not end by itself
        cause = f"did not answer for {silence():.0f} seconds and was ended"
    elif code < 0:
        name = signal.Signals(-code).name
        hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
        cause = f"was killed by signal {-code} ({name}){hint}"
    else:
        report = "its report is above"
        if code != _CRASHED:  # the C library ends a process that cannot even start a thread
            report = f"it ended with code {code}, perhaps for lack of memory; {report}"
        cause = f"failed: {_words(folder, rank) or report}".rstrip(".")
    count = len(codes) - 1
    others = f" The other {count} ranks were ended." if count > 1 else " The other one was ended."
    others = others if count else ""
    more = ""
    if checkpoints is not None and checkpoints.stored is not None:
        more = f" The state is in '{checkpoints.stored}'; --resume continues it."
    raise UnavailableError(f"rank {rank} of {len(codes)} {cause}.{others}{more}")


def _words(folder: Path, rank: int) -> str:
    path = folder / f"error-{rank}.txt"
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _child(
    work: Work,
    rank: int,
    payload: Any,
    folder: Path,
    environment: dict[str, str],
    writer: Connection[Any, Any] | None,
) -> None:
    os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is asked, and tells
    end_with_parent()
    keep_freed_memory()
    import torch

    torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    told = [0.0]

    def progress(done: int, total: int) -> None:
        now = time.monotonic()
        if writer is not None and (now - told[0] >= _TELL_EVERY or done == total):
            told[0] = now
            with contextlib.suppress(OSError):
                writer.send((done, total))

    try:
        work(rank, payload, progress)
    except BaseException as error:
        code, words = _cause(error)
        if words:
            (folder / f"error-{rank}.txt").write_text(words, encoding="utf-8")
        else:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)  # without waiting for connections to ranks that may be gone


def _cause(error: BaseException) -> tuple[int, str]:
    """The exit code of a process with this error, and its words; none for an unexpected one."""
    if isinstance(error, LostRankError):
        return _LOST, str(error)
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
