"""Thousands of valid and hostile requests to a served model, on kept and on new connections.

Every answer comes in time with a documented status, an error has the one form, and valid requests
get the same answer to the end. The server's memory does not grow and it logs no traceback.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from forked import forked
from mutants import HOSTILE_CELLS, HOSTILE_VALUES, changed_bytes, changed_json

_CLIENTS = 10
_WARM = 0.2  # of the requests are made before memory is measured
_GROWTH = 1.05
_NEW = {
    "nodes": [{"id": "q1", "columns": {"age": 50, "colour": "red", "motto": "paint"}}],
    "edges": [["q1", "p0"], ["q1", "p3"]],
}
_VALID = (
    ("POST", "/predict", {"ids": ["p0", "p7"]}),
    ("POST", "/predict/new", _NEW),
    ("GET", "/explain?node=p4&limit=3", None),
    ("GET", "/model", None),
    ("GET", "/health", None),
)
_STATUSES = {200, 400, 403, 404, 405, 408, 409, 411, 413, 415, 422, 431, 501, 503}


@dataclass
class Findings:
    """What went wrong, and how many requests were answered with which status."""

    wrong: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    growth: float = 1.0


def findings(source: random.Random, base: Path, work: Path, count: int) -> Findings:
    """Serve the base's run in a fork, send that many requests, and stop the server."""
    folder = work / "served"
    folder.mkdir()
    process = forked(lambda: _serve(base / "run"), folder)
    found = Findings()
    try:
        port = _port(folder)
        expected = asyncio.run(_expected(port))
        warm = int(_WARM * count)
        asyncio.run(_all(source, port, warm, expected, found))
        before = psutil.Process(process).memory_info().rss
        asyncio.run(_all(source, port, count - warm, expected, found))
        after = psutil.Process(process).memory_info().rss
        found.growth = after / before
        if found.growth > _GROWTH:
            found.wrong.append(f"memory grew by {100 * (found.growth - 1):.1f} %")
    finally:
        os.kill(process, signal.SIGTERM)
        _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status):
        found.wrong.append(f"the server ended with {os.waitstatus_to_exitcode(status)}")
    if log := (folder / "stderr.txt").read_text(encoding="utf-8").strip():
        found.wrong.append(f"logged in spite of --quiet: {log[-300:]}")
    return found


def _serve(run: Path) -> int:
    from agnn.cli import main
    from agnn.web._asgi import BodyLimit
    from agnn.web._connections import Connection

    # The times are tested elsewhere; here they would only be waited for.
    Connection.head_seconds = 1.0
    BodyLimit.__init__.__defaults__ = (1.0,)
    return main(["serve", str(run), "--port", "0", "--quiet", "--json"])


def _port(folder: Path) -> int:
    for _ in range(600):
        text = (folder / "stdout.txt").read_text() if (folder / "stdout.txt").exists() else ""
        if text.endswith("\n"):
            return int(json.loads(text)["address"].rpartition(":")[2])
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


async def _expected(port: int) -> list[bytes]:
    found = []
    for method, path, body in _VALID:
        connection = await _connected(port)
        _, content = await _exchange(connection, _request(method, path, _json(body)))
        connection[1].close()
        found.append(content)
    return found


async def _all(
    source: random.Random, port: int, count: int, expected: list[bytes], found: Findings
) -> None:
    """Some clients, each with its share of the requests."""
    share = count // _CLIENTS
    seeds = [source.random() for _ in range(_CLIENTS)]
    await asyncio.gather(
        *(_client(random.Random(seed), port, share, expected, found) for seed in seeds)  # noqa: S311
    )


async def _client(
    source: random.Random, port: int, count: int, expected: list[bytes], found: Findings
) -> None:
    connection = await _connected(port)
    for _ in range(count):
        which = source.randrange(len(_VALID)) if source.random() < 0.4 else None
        message = _hostile(source)
        if which is not None:
            method, path, body = _VALID[which]
            message = _request(method, path, _json(body))
        try:
            async with asyncio.timeout(60):  # other programs use the machine as well
                status, content = await _exchange(connection, message)
        except TimeoutError:
            found.wrong.append(f"hang: no answer to {message[:200]!r}")
            status, content = 0, b""
        except (ConnectionError, asyncio.IncompleteReadError):
            status, content = -1, b""  # closed without an answer
        if status == -1 and which is not None:  # a kept connection may have been closed meanwhile
            connection = await _connected(port)
            status, content = await _exchange(connection, message)
        found.statuses[status] += 1
        if wrong := _wrong(status, content, None if which is None else expected[which]):
            found.wrong.append(f"{wrong} after {message[:200]!r}")
        if status <= 0 or which is None or source.random() < 0.2:
            connection[1].close()
            connection = await _connected(port)
    connection[1].close()


def _wrong(status: int, content: bytes, expected: bytes | None) -> str | None:
    """What is wrong with an answer; None if nothing."""
    if status == -1:
        return None
    if status not in _STATUSES:
        return f"status {status}"
    if expected is not None and status == 200 and content != expected:
        return f"wrong answer: {content[:200]!r}"
    if expected is not None and status not in (200, 503):
        return f"a valid request got {status}: {content[:200]!r}"
    if status != 200:
        try:
            error = json.loads(content)
        except ValueError:
            return f"an error that is not JSON: {content[:200]!r}"
        if list(error) != ["error"] or "Traceback" in error["error"]:
            return f"an error of another form: {content[:200]!r}"
    return None


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connected(port: int) -> Connection:
    return await asyncio.open_connection("127.0.0.1", port)


async def _exchange(connection: Connection, message: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to a message."""
    reader, writer = connection
    writer.write(message)
    if not message.endswith(b"\r\n\r\n") and b"content-length" not in message:
        writer.write_eof()  # nothing follows, so that the server need not wait
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    content = await reader.readexactly(int(length[1])) if length else b""
    return int(head.split(b" ", 2)[1]), content


def _json(value: Any) -> bytes | None:
    return None if value is None else json.dumps(value).encode()


def _request(method: str, path: str, body: bytes | None, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers]
    if body is not None:
        lines += [f"content-length: {len(body)}"]
        if not any(line.startswith("content-type") for line in headers):
            lines += ["content-type: application/json"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body or b"")


def _hostile(source: random.Random) -> bytes:
    """A request that no friendly client would send."""
    method, path, body = source.choice(_VALID[:3])
    content = _json(body)
    match source.randrange(9):
        case 0 if content:  # bytes of the body
            content = changed_bytes(source, content)
        case 1 | 2 if body:  # values in the body
            try:
                content = json.dumps(changed_json(source, body)).encode()
            except RecursionError:
                content = b"[" * 50_000
        case 3:
            odd = source.choice(
                [
                    "origin: http://evil.example", "sec-fetch-site: cross-site", "host: evil",
                    "content-type: text/plain", "transfer-encoding: chunked", "expect: x",
                    "content-length: 99999999999", "content-length: -1", "x: " + "y" * 70_000,
                    "authorization: Bearer x", "upgrade: websocket", "connection: upgrade",
                    "te: \x00",
                ]
            )  # fmt: skip
            return _request(method, path, content, odd)
        case 4:
            cell = source.choice(HOSTILE_CELLS).encode("utf-8", "replace").hex()
            quoted = "".join(f"%{cell[k : k + 2]}" for k in range(0, min(len(cell), 4000), 2))
            path = source.choice(
                [f"/explain?node={quoted}", f"/{quoted}", f"/explain?limit={quoted}&node=p1"]
            )
            return _request("GET", path, None)
        case 5:  # not even HTTP
            return source.choice(
                [
                    source.randbytes(source.choice([1, 10, 1000])), b"GET\r\n\r\n", b"\r\n\r\n",
                    b"GET / HTTP/1.0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                ]
            )  # fmt: skip
        case 6:
            deep = source.choice([b"[" * 20_000, b'{"a":' * 20_000, b"9" * 10_000, b"", b"null"])
            return _request("POST", "/predict", deep)
        case 7:
            values = [source.choice(HOSTILE_VALUES) for _ in range(3)]
            body = source.choice(
                [{"ids": values}, {"nodes": values}, {"nodes": _NEW["nodes"], "edges": [values]}]
            )
            content = json.dumps(body).encode()
            method, path = "POST", source.choice(["/predict", "/predict/new"])
        case _:
            names = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "X" * 1000]
            paths = ["/", "/metrics", "/openapi.json", "/../etc/passwd", "//", "/predict/", "*"]
            method, path = source.choice(names), source.choice(paths)
            return _request(method, path, None) if method != "HEAD" else _request("GET", path, None)
    return _request(method, path, content)
