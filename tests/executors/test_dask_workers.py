"""A real scheduler and real workers: the same rows, a worker killed, clear refusals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import agnn.studies._executor as executor
from agnn.errors import InputError, UnavailableError
from agnn.executors import map_as_completed, open_executor, package_versions
from agnn.executors._dask import DaskWorkers, connect, scheduler_address
from agnn.studies import Store, reproduce

TABLE = """
title = "Several machines"
seeds = 24
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "AGNN"
method = "agnn"
paper = [""]
fields = { epochs = 6 }
[[rows]]
title = "GCN"
method = "gcn"
paper = [""]
fields = { epochs = 4 }
"""
# A worker that joins as `dask worker` does, with another version of the package.
OTHER = """
import sys, agnn
agnn.__version__ = "0.0.1"
from distributed.cli.dask_worker import main
main(sys.argv[1:])
"""
pytestmark = pytest.mark.slow


def start(*words: str) -> subprocess.Popen[bytes]:
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, *words], env=places, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """A scheduler and workers of one thread, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.folder, self.address = folder, f"tcp://127.0.0.1:{port}"
        self.processes = [
            start("-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard",
                  "--host", "127.0.0.1")
        ]  # fmt: skip

    def add_worker(self, *program: str) -> subprocess.Popen[bytes]:
        words = program or ("-m", "distributed.cli.dask_worker")
        self.processes.append(
            start(*words, self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard",
                  "--name", str(len(self.processes)), "--local-directory", str(self.folder))
        )  # fmt: skip
        return self.processes[-1]

    def settle(self) -> None:
        """Wait until the scheduler knows the workers that are alive, and no others."""
        from distributed import Client

        living = {
            str(k) for k, process in enumerate(self.processes) if k and process.poll() is None
        }
        end = time.monotonic() + 300
        while time.monotonic() < end:
            try:
                with Client(self.address, timeout=5, set_as_default=False) as client:
                    while time.monotonic() < end:
                        workers = client.scheduler_info(n_workers=-1)["workers"].values()
                        if {str(each["name"]) for each in workers} == living:
                            return
                        time.sleep(0.1)
            except OSError:
                continue
        raise AssertionError("the cluster did not start")

    def kill_workers(self) -> None:
        for process in self.processes[1:]:
            process.kill()
            process.wait()
        self.settle()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(executor, "_MOST", 3)
    monkeypatch.setattr(executor, "_LEAST", 3)
    path = tmp_path / "mine.toml"
    path.write_text(TABLE, encoding="utf-8")
    return path


def rows(table: Path, where: str | None, progress: Callable[[Any], None] | None = None) -> Any:
    """Everything stored but seconds and threads, which the client cannot see of a worker."""
    store = Store.in_memory()
    done = reproduce([str(table)], store=store, executor=where, progress=progress, threads=1)
    assert done.failures == ()
    found = [{**vars(run), "seconds": 0, "machine": {}} for run in store.runs()]
    assert len(found) == done.new == 48
    return found


def test_every_executor_gives_the_same_rows_though_a_worker_is_killed(
    cluster: Cluster, table: Path
) -> None:
    first, _ = cluster.add_worker(), cluster.add_worker()
    cluster.settle()
    killed = []

    def kill_one(progress: Any) -> None:
        if progress.finished >= 6 and not killed:
            first.send_signal(signal.SIGKILL)
            killed.append(progress.finished)

    here = rows(table, None)
    assert rows(table, f"dask:{cluster.address}", kill_one) == here
    assert killed
    assert killed[0] < 48, "in the middle"
    assert rows(table, "local:1") == here


def test_a_worker_of_another_version_is_refused(cluster: Cluster, table: Path) -> None:
    other = cluster.add_worker("-c", OTHER)
    cluster.settle()
    with pytest.raises(UnavailableError, match=r"has agnn 0.0.1, and this process has"):
        rows(table, f"dask:{cluster.address}")
    other.kill()


def test_a_scheduler_that_is_not_there_is_an_error(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.executors._dask._PATIENCE", 0.5)
    where = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(UnavailableError, match=f"no Dask scheduler answers at '{where}'"):
        rows(table, f"dask:{where}")


@pytest.mark.parametrize("content", [None, "[]", '{"address": null}', '{"address": "foo://x"}'])
def test_what_is_no_address_is_refused_at_once(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "scheduler.json"
    if content is not None:
        file.write_text(content)
    began = time.monotonic()
    with pytest.raises(InputError, match="is neither the address of a Dask scheduler, such as"):
        connect(str(file)).__enter__()
    assert time.monotonic() - began < 5


def test_the_address_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "scheduler.json").write_text('{"address": "tcp://[::1]:8786", "workers": {}}')
    assert scheduler_address(str(tmp_path / "scheduler.json")) == "tcp://[::1]:8786"
    assert scheduler_address("head:8786") == "head:8786"


def test_a_scheduler_without_workers_is_an_error(
    cluster: Cluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.executors._dask._WORKER_PATIENCE", 0.2)
    cluster.kill_workers()
    with pytest.raises(UnavailableError, match="has no workers; start some with `dask worker"):
        rows(table, f"dask:{cluster.address}")


def test_a_scheduler_that_dies_is_an_error(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.executors._dask._PATIENCE", 2.0)
    monkeypatch.setattr("agnn.executors._executors._WORKERS_EVERY", 0.5)
    cluster.add_worker()
    cluster.settle()
    with open_executor(f"dask:{cluster.address}") as workers:
        assert workers is not None
        results = map_as_completed(workers, time.sleep, deque([0.1, 60]))
        assert next(results) == (0.1, None)
        cluster.processes[0].kill()
        with pytest.raises(UnavailableError, match="the connection to the workers was lost"):
            next(results)


def test_a_worker_that_dies_while_versions_are_compared_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from distributed.comm import CommClosedError

    dead, alive = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2"
    closed = CommClosedError("in <TCP (closed)>: Stream is closed")
    answers = [{dead: closed}, {dead: closed, alive: package_versions()}]

    class Client:
        scheduler = SimpleNamespace(address="tcp://127.0.0.1:3")

        def wait_for_workers(self, *_: Any, **__: Any) -> None:
            pass

        def run(self, *_: Any, **__: Any) -> dict[str, Any]:
            return answers.pop(0)

        def get_executor(self) -> None:
            pass

    monkeypatch.setattr("agnn.executors._dask.import_dask", lambda: SimpleNamespace(Client=Client))
    DaskWorkers(Client())
    assert answers == []


@pytest.mark.parametrize("error", [RuntimeError("Nanny failed to start."), TimeoutError()])
def test_a_worker_of_this_machine_that_dies_during_the_start_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    def fail(**_: Any) -> None:
        raise error

    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with (
        pytest.raises(UnavailableError, match="worker of this machine ended while it was started"),
        connect(None),
    ):
        pass
