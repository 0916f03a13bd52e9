"""Dask workers as an executor: versions compared, threads as given, errors in one line."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from agnn.errors import InputError, UnavailableError, import_extra
from agnn.executors._executors import lost_connection
from agnn.executors._launched import package_versions
from agnn.files import read_json

R = TypeVar("R")

_PATIENCE: Final = 10.0  # seconds for a scheduler to answer
_WORKER_PATIENCE: Final = 30.0  # seconds for the first worker to join
# A worker wakes up fifty times a second by default, and samples what it does a hundred times: on
# one machine, at the cost of the others' training.
_CALM: Final = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
}
_one_call = threading.Lock()


class DaskWorkers(Executor):
    """The workers of a Dask client's scheduler; those of another version are refused."""

    def __init__(self, client: Any) -> None:
        if not isinstance(client, import_dask().Client):
            raise InputError(
                f"`executor` must be text, an executor or a Dask client; got {client!r}."
            )
        self._client = client
        self._versions = package_versions()
        self._check_workers()
        self._executor = client.get_executor()

    @property
    def worker_count(self) -> int:
        """Workers that are there now."""
        return max(1, len(self._client.scheduler_info(n_workers=-1).get("workers", ())))

    @property
    def is_lost(self) -> bool:
        """Whether the scheduler is gone for good; the client waits for it for a while."""
        return self._client.status in ("closing", "closed")

    def submit(self, function: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:
        """Call `function` on one of the workers."""
        if self.is_lost:
            raise lost_connection()
        future: Future[R] = self._executor.submit(
            _call_on_worker, self._versions, function, arguments, named
        )
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop the calls that have not begun; the workers stay."""
        self._executor.shutdown(wait=wait)

    def _check_workers(self) -> None:
        """Raise unless there are workers and all have this process's versions."""
        where = self._client.scheduler.address
        answers: dict[str, Any] = {}
        while not answers:
            try:
                self._client.wait_for_workers(1, timeout=_WORKER_PATIENCE)
            except TimeoutError as error:
                raise UnavailableError(
                    f"the Dask scheduler at '{where}' has no workers; start some with "
                    f"`dask worker {where}`."
                ) from error
            replies = self._client.run(package_versions, on_error="return")
            # The connection to a worker that has died meanwhile is closed; the others do its work.
            answers = {
                at: answer for at, answer in replies.items() if not isinstance(answer, OSError)
            }
        for address, answer in answers.items():
            if isinstance(answer, Exception):
                raise UnavailableError(
                    f"the Dask worker at '{address}' cannot use agnn: {answer}; install the same "
                    f"version there."
                )
            _compare(address, answer, self._versions)


@contextmanager
def connect(address: str | None) -> Iterator[DaskWorkers]:
    """Give the workers of the scheduler at an address or in a scheduler file.

    Without either: of the scheduler in DASK_SCHEDULER_ADDRESS, or of a new one on this machine
    with one worker of one thread per core.
    """
    dask = import_dask()
    address = address or os.environ.get("DASK_SCHEDULER_ADDRESS")
    with _quiet_log(), ExitStack() as opened:
        if address is None:
            where: dict[str, Any] = {"address": opened.enter_context(_local_cluster(dask))}
        else:
            where = {"address": scheduler_address(address), "timeout": _PATIENCE}
        try:
            client = dask.Client(set_as_default=False, **where)
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"no Dask scheduler answers at '{address}'; start one with `dask scheduler`."
            ) from error
        yield DaskWorkers(opened.enter_context(client))


def _local_cluster(dask: Any) -> Any:
    """Start a scheduler and its workers; not by Client, which waits a minute if that fails."""
    try:
        with import_module("dask").config.set(_CALM):
            return dask.LocalCluster(threads_per_worker=1, dashboard_address=None)
    except (OSError, RuntimeError) as error:
        raise UnavailableError(
            "a Dask worker of this machine ended while it was started; give the same command "
            "again, or use --executor local:N."
        ) from error


def scheduler_address(text: str) -> str:
    """Return the address of a scheduler, which may be in a file.

    Dask itself waits for a long time for an address that is none, and then prints a traceback.
    """
    address = text
    if Path(text).is_file():
        content = read_json(Path(text))
        address = str(content.get("address")) if isinstance(content, dict) else ""
    if re.fullmatch(r"((tcp|tls|wss?|ucxx?)://)?[^\s/]+:\d+", address) is None:
        raise InputError(
            f"'{text}' is neither the address of a Dask scheduler, such as tcp://10.0.0.1:8786, "
            f"nor its scheduler file."
        )
    return address


@contextmanager
def _quiet_log() -> Iterator[None]:
    """No log of Dask's, with its tracebacks: a lost scheduler or worker is reported by us."""
    names = ["tornado.application"]
    names += [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def import_dask() -> Any:
    """Return Dask's package for several processes; raise where it is not installed."""
    return import_extra("distributed", "--executor dask needs Dask", "agnn[cluster]")


def _compare(address: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    for package, version in ours.items():
        if theirs.get(package) != version:
            raise UnavailableError(
                f"the Dask worker at '{address}' has {package} {theirs.get(package)}, and this "
                f"process has {version}; results may differ, so install the same version there."
            )


def _call_on_worker(
    versions: Mapping[str, str], function: Callable[..., R], arguments: Any, named: Any
) -> R:
    """Call a function with all of a worker's threads; Dask would give each thread a call.

    Versions are compared again for workers that joined after the others were asked.
    """
    import torch

    worker = import_module("distributed").get_worker()
    _compare(worker.address, package_versions(), versions)
    with _one_call:
        torch.set_num_threads(worker.state.nthreads)
        return function(*arguments, **named)
