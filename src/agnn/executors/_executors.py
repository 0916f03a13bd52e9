"""Executors: processes of this machine or Dask workers anywhere, behind one interface.

The interface is `concurrent.futures.Executor`. What an executor must do beyond it is to give the
calls of a worker that died to another one; `LocalProcesses` and Dask do.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from agnn._allocator import keep_freed_memory
from agnn.errors import AgnnError, InputError, UnavailableError

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS: Final = 3  # deaths of a worker during one call, after which the call is given up
_WORKERS_EVERY: Final = 5.0  # seconds between two looks at whether the workers can be reached
_LOOK_EVERY: Final = 0.2  # seconds between two looks at what they do
_KINDS: Final = "local, local:N (processes), dask or dask:ADDRESS (a scheduler or its file)"


def parse_executor(text: str) -> tuple[str, str]:
    """Return the kind of an executor and what follows the colon.

    >>> parse_executor("local:4"), parse_executor("dask:tcp://10.0.0.1:8786")
    (('local', '4'), ('dask', 'tcp://10.0.0.1:8786'))
    """
    kind, _, argument = text.partition(":")
    if kind not in ("local", "dask") or text.endswith(":"):
        raise InputError(f"unknown executor '{text}'; known: {_KINDS}.")
    if kind == "local" and argument and not (argument.isdecimal() and 1 <= int(argument) <= 1024):
        raise InputError(f"'local:N' takes from 1 to 1024 processes; got '{text}'.")
    return kind, argument


@contextmanager
def open_executor(
    executor: str | Executor | None, threads: int | None = None
) -> Iterator[Executor | None]:
    """Give the workers that `executor` names, which end with the block; None stays None.

    Args:
        executor: "local" or "local:N" for N processes here; "dask:ADDRESS" for the workers of a
            Dask scheduler, or "dask" for that in DASK_SCHEDULER_ADDRESS and without it for a
            scheduler and workers of this machine; a Dask client; or any other executor, which is
            used as it is and stays open.
        threads: that each local process computes with; None divides the cores among them. Dask
            workers use the threads that they were started with.
    """
    if executor is None or isinstance(executor, Executor):
        yield executor
        return
    from agnn.executors._dask import DaskWorkers, connect

    if not isinstance(executor, str):
        yield DaskWorkers(executor)
        return
    kind, argument = parse_executor(executor)
    if kind == "local":
        count = int(argument) if argument else _cores()
        with LocalProcesses(count, threads or max(1, _cores() // count)) as processes:
            yield processes
    else:
        with connect(argument or None) as workers:
            yield workers


def map_as_completed(
    executor: Executor,
    function: Callable[[T], R],
    waiting: deque[T],
    ready: Callable[[T], T | None] = lambda argument: argument,
    look: Callable[[], None] | None = None,
) -> Iterator[tuple[T, R | AgnnError]]:
    """Call `function` on the arguments in `waiting`; give each with its result as it comes.

    An argument leaves `waiting` when a worker is about to be free for it, and more may be added
    between two results. `ready` may then replace it, or drop it with None. `look` is called every
    now and then while calls are under way. An `AgnnError` of a call is given in place of its
    result; any other error is raised.
    """
    running: dict[Future[R], T] = {}
    try:
        while waiting or running:
            while waiting and len(running) < _window(executor):
                argument = ready(waiting.popleft())
                if argument is not None:
                    running[executor.submit(function, argument)] = argument
            pause = _WORKERS_EVERY if look is None else _LOOK_EVERY
            done = wait(running, pause, FIRST_COMPLETED).done
            if look is not None:
                look()
            if not done and getattr(executor, "is_lost", False):  # their futures never end
                raise lost_connection()
            # A caller may end at an error, so what has finished beside it comes first.
            for future in sorted(done, key=_has_failed):
                result = _outcome(future)
                yield running.pop(future), result
    finally:
        for future in running:
            future.cancel()


def _window(executor: Executor) -> int:
    """Return how many calls to have under way: a worker that is free finds the next one there."""
    count = getattr(executor, "worker_count", None) or getattr(executor, "_max_workers", None)
    return 2 * (count or _cores())


def _has_failed(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


def _outcome(future: Future[R]) -> R | AgnnError:
    try:
        return future.result()
    except AgnnError as error:
        return error
    except CancelledError as error:
        raise lost_connection() from error
    except Exception as error:
        if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
            return UnavailableError(
                f"{_ATTEMPTS} workers died while working on it; was there too little memory?"
            )
        if isinstance(error, ImportError):
            return UnavailableError(f"a worker lacks what is needed: {error}.")
        raise


def lost_connection() -> UnavailableError:
    """Return the error of calls whose workers cannot be reached any more."""
    return UnavailableError(
        "the connection to the workers was lost. What is finished is kept: start them again and "
        "give the same command."
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalProcesses(Executor):
    """Processes of this machine; the calls of one that was killed are done by others."""

    def __init__(self, count: int, threads: int) -> None:
        self.worker_count = count
        self.threads = threads
        self._lock = threading.Lock()
        self._pool = self._new_pool()
        self._is_closed = False

    def _new_pool(self) -> ProcessPoolExecutor:
        # A forked process would inherit torch's and numba's threads in an unusable state.
        return ProcessPoolExecutor(
            self.worker_count, multiprocessing.get_context("spawn"), _begin, (self.threads,)
        )

    def submit(self, function: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:
        """Call `function` in one of the processes."""
        answer: Future[R] = Future()
        answer.set_running_or_notify_cancel()

        def start(attempt: int) -> None:
            with self._lock:
                try:
                    inner = self._pool.submit(function, *arguments, **named)
                except BrokenExecutor:
                    self._pool = self._new_pool()
                    inner = self._pool.submit(function, *arguments, **named)
            inner.add_done_callback(lambda done: settle(done, attempt))

        def settle(inner: Future[R], attempt: int) -> None:
            if inner.cancelled() or self._is_closed:
                answer.set_exception(CancelledError())
                return
            error = inner.exception()
            if isinstance(error, BrokenExecutor) and attempt < _ATTEMPTS:
                start(attempt + 1)
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(inner.result())

        start(1)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; calls that have not begun are dropped."""
        self._pool.shutdown(wait, cancel_futures=True)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:  # after Ctrl-C or an error nobody waits for what is running
            self._is_closed = True
            for process in list((self._pool._processes or {}).values()):
                process.kill()
        self.shutdown()


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it is gone, also by a kill."""

    def wait_for_end(parent: Any) -> None:
        parent.join()
        os._exit(1)

    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=wait_for_end, args=(parent,), daemon=True).start()


def _begin(threads: int) -> None:
    """Prepare a process: its threads; Ctrl-C, which a terminal sends to all, is the client's."""
    import torch

    end_with_parent()
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
