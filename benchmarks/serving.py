"""`python -m benchmarks.serving`: how fast `agnn serve` answers on kept connections.

A run of AGNN on Cora (10 replicas) is served by the program itself, and clients in this process
send one request after another over connections that stay open. With 50 clients the client's own
work is part of the figures: both share the machine.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

_PROGRAM = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"
_NODE = "1131150"  # a node of Cora
_SECONDS = 5.0  # per figure
_CLIENTS = 50


class Latency(NamedTuple):
    """Requests per second, and the median and the 99 % point of their milliseconds."""

    per_second: float
    p50: float
    p99: float


def request(path: str, body: str = "") -> bytes:
    """A request as it goes over the wire."""
    method = "POST" if body else "GET"
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1"]
    if body:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return ("\r\n".join([*lines, "", ""]) + body).encode()


HEALTH = request("/health")
PREDICT = request("/predict", json.dumps({"ids": [_NODE]}))


@contextmanager
def served(run: Path) -> Iterator[int]:
    """The port of a server for this run."""
    command = [sys.executable, "-c", _PROGRAM, "serve", str(run), "--port", "0", "--json"]
    command.append("--quiet")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            line = server.stdout.readline() if server.stdout else ""
            yield int(json.loads(line)["address"].rpartition(":")[2])
        finally:
            server.terminate()


async def _client(port: int, message: bytes, end: float, times: list[float]) -> None:
    """One client: the seconds of its requests, one after another on one connection.

    On a busy machine the time may be over before the first answer, which is waited for.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    is_answered = False
    try:
        while (start := time.perf_counter()) < end or not is_answered:
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
            status = int(head.split(b" ", 2)[1])
            if status == 200:
                is_answered = True
                times.append(time.perf_counter() - start)
            elif status != 503:
                raise RuntimeError(f"unexpected answer: {head.decode()}")
    finally:
        writer.close()
        await writer.wait_closed()


async def _load(port: int, groups: Sequence[tuple[bytes, int]], seconds: float) -> list[Latency]:
    """The latency of each group (a request, how many clients send it), all at the same time."""
    end = time.perf_counter() + seconds
    times: list[list[float]] = [[] for _ in groups]
    async with asyncio.TaskGroup() as tasks:
        for (message, clients), own in zip(groups, times, strict=True):
            for _ in range(clients):
                tasks.create_task(_client(port, message, end, own))
    return [
        Latency(len(own) / seconds, *(1e3 * np.quantile(own, [0.5, 0.99])).tolist())
        for own in times
    ]


def latencies(port: int, seconds: float = _SECONDS) -> dict[str, Latency]:
    """All figures for a server on this port, by name."""

    def load(*groups: tuple[bytes, int]) -> list[Latency]:
        return asyncio.run(_load(port, groups, seconds))

    load((PREDICT, 1), (HEALTH, 1))  # the first requests are slower
    return {
        "predict_1": load((PREDICT, 1))[0],
        "predict_50": load((PREDICT, _CLIENTS))[0],
        "health_1": load((HEALTH, 1))[0],
        "health_50": load((HEALTH, _CLIENTS))[0],
        "health_beside_50": load((HEALTH, 1), (PREDICT, _CLIENTS))[0],
    }


@cache
def measured() -> dict[str, Latency]:
    """The figures of AGNN on Cora."""
    from agnn.data import load_dataset
    from agnn.networks import AGNN
    from agnn.runs import evaluate, save_run

    method = AGNN.preset("fixed", "cora").with_fields(epochs=20)
    run = evaluate(method, load_dataset("cora"), "fixed", range(10))
    with tempfile.TemporaryDirectory() as folder:
        save_run(run, Path(folder) / "run")
        with served(Path(folder) / "run") as port:
            return latencies(port)


def milliseconds() -> dict[str, float]:
    """p50 and p99 of every figure."""
    return {
        f"{name}_{part}": getattr(each, part)
        for name, each in measured().items()
        for part in ("p50", "p99")
    }


def rates() -> dict[str, float]:
    """Requests per second of every figure."""
    return {name: each.per_second for name, each in measured().items()}


WHAT = {
    "predict_1": "predict one known node of Cora, 1 client",
    "predict_50": f"the same, {_CLIENTS} clients",
    "health_1": "/health, 1 client",
    "health_50": f"/health, {_CLIENTS} clients",
    "health_beside_50": f"/health, 1 client beside {_CLIENTS} that predict",
}


def main() -> int:
    """Measure and print the figures as JSON."""
    found = {name: each._asdict() for name, each in measured().items()}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
