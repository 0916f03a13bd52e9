"""Many models on Dask workers against one process: the same rows, and what distribution costs.

    python -m benchmarks.executors --workers 4 --seeds 40

The first run is one process, the second a scheduler and workers of one thread each, started here.
Where other programs compete for the cores, CPU seconds say more than seconds: they are those of
the client, the scheduler and the workers together, from the command's start to its end.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

_COLUMNS = (
    "spec, data, seed, experiment, method, dataset, split, accuracy, selected_epochs, betas, extra"
)
# Dask's own clocks: by default a worker wakes up fifty times a second, also while it has nothing
# to do, and samples what it is doing a hundred times.
_CALM = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
_NOWHERE = subprocess.DEVNULL
_MAIN = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"


def main() -> None:
    """Print the two times, their ratio and whether the rows are the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--methods", default="gcn,gln")
    parser.add_argument("--datasets", default="cora,citeseer,pubmed")
    given = parser.parse_args()
    line = [
        "reproduce", "table2", "--methods", given.methods, "--datasets", given.datasets, "--seeds",
        str(given.seeds), "--quiet", "--threads", "1",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        one = _timed([*line, "--out", str(home / "one")], [])
        address, others = _cluster(given.workers, home, stack)
        on_dask = [*line, "--executor", f"dask:{address}"]
        # Workers load torch and compiled code once, whatever comes after.
        first = _warmed(address, others, given.methods.split(","), given.datasets.split(","))
        many = _timed([*on_dask, "--out", str(home / "many")], others)
        rows = [_rows(home / name) for name in ("one", "many")]
    result = {
        "one process": one,
        f"first calls of {given.workers} workers": first,
        f"{given.workers} workers": many,
        "CPU seconds, ratio": round(many["CPU seconds"] / one["CPU seconds"], 3),
        "seconds, ratio": round(many["seconds"] / one["seconds"], 3),
        "rows": len(rows[0]),
        "same rows": rows[0] == rows[1],
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


def _start(*words: str) -> psutil.Popen:
    places = {**os.environ, "OMP_NUM_THREADS": "1", **_CALM}
    return psutil.Popen([sys.executable, *words], env=places, stdout=_NOWHERE, stderr=_NOWHERE)


def _cluster(workers: int, home: Path, stack: ExitStack) -> tuple[str, list[Any]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address, common = f"tcp://127.0.0.1:{port}", ("--no-dashboard",)
    started = [_start("-m", "distributed.cli.dask_scheduler", "--port", str(port), *common)]
    for k in range(workers):
        where = ("--local-directory", str(home / f"worker-{k}"), "--no-nanny", "--nthreads", "1")
        started.append(_start("-m", "distributed.cli.dask_worker", address, *where, *common))
    for each in started:
        stack.callback(lambda process=each: (process.kill(), process.wait()))
    from distributed import Client

    while True:
        try:
            with Client(address, timeout=30, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=300)
                return address, started
        except OSError:
            time.sleep(1)


def _warmed(
    address: str, others: list[Any], methods: list[str], datasets: list[str]
) -> dict[str, float]:
    """Train every method for an epoch on every worker; seconds as below."""
    from distributed import Client

    before, start = sum(_cpu(process.cpu_times()) for process in others), time.perf_counter()
    with Client(address, set_as_default=False) as client:
        client.run(_one_epoch, methods, datasets)
    used = sum(_cpu(process.cpu_times()) for process in others) - before
    return {"seconds": round(time.perf_counter() - start, 1), "CPU seconds": round(used, 1)}


def _one_epoch(methods: list[str], datasets: list[str]) -> None:
    import agnn

    for dataset in datasets:
        data = agnn.load_dataset(dataset)
        for method in methods:
            agnn.evaluate(method, data, changes={"epochs": 1})


def _timed(words: list[str], others: list[Any]) -> dict[str, float]:
    """Wall and CPU seconds of a command, with what other processes compute meanwhile."""
    before = sum(_cpu(process.cpu_times()) for process in others)
    start = time.perf_counter()
    process = _start("-c", _MAIN, *words)
    _, code, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if code:
        raise SystemExit(f"`agnn {' '.join(words)}` failed")
    after = sum(_cpu(process.cpu_times()) for process in others)
    own = used.ru_utime + used.ru_stime
    return {"seconds": round(seconds, 1), "CPU seconds": round(own + after - before, 1)}


def _cpu(times: Any) -> float:
    return float(times.user + times.system)


def _rows(folder: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "runs.sqlite")
    try:
        words = f"SELECT {_COLUMNS} FROM runs ORDER BY spec, data, seed"  # noqa: S608 (our names)
        return connection.execute(words).fetchall()
    finally:
        connection.close()


if __name__ == "__main__":
    main()
