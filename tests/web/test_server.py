"""The server process: its address, its end, and addresses that cannot be had."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from agnn.errors import InputError, UnavailableError
from agnn.web import check_packages
from agnn.web.server import address_of, bound_socket, run_server

PROGRAM = """
import sys
sys.path[:0] = {path!r}
from echo_application import echo
from agnn.web import _connections
from agnn.web.server import run_server
{setup}
run_server(echo, ready=lambda address: print(address, flush=True))
print("ended")
"""
DESCRIPTORS = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))"


@contextlib.contextmanager
def server(*setup: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address."""
    path = [str(Path(__file__).parent)]
    program = [
        sys.executable,
        "-W",
        "error",
        "-c",
        PROGRAM.format(path=path, setup="\n".join(setup)),
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True)  # noqa: S603 (our own program)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_server_reports_its_address_answers_and_ends_on_a_signal(stop: signal.Signals) -> None:
    with server() as (process, address):
        assert address.startswith("http://127.0.0.1:")
        answer = httpx.post(address, content=b"hello")
        assert answer.content == b"hello"
        assert "server" not in answer.headers
        process.send_signal(stop)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, "ended\n", "")


def test_answers_on_a_kept_connection_do_not_wait_for_the_clients_acknowledgement() -> None:
    with server() as (_, address), httpx.Client(base_url=address) as client:
        seconds = []
        for _ in range(40):
            start = time.perf_counter()
            assert client.post("/", content=b"hello").content == b"hello"
            seconds.append(time.perf_counter() - start)
    # Where the server waits, most answers take 40 ms or more; a few at the start do not.
    assert sorted(seconds)[len(seconds) // 4] < 0.025


def test_the_listening_socket_names_its_protocol() -> None:
    with bound_socket("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # asyncio's condition for TCP_NODELAY


def connected(address: str, first: bytes = b"") -> socket.socket:
    """A connection to the server, with some bytes sent."""
    found = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=10)
    with contextlib.suppress(OSError):  # it may be refused already
        found.sendall(first)
    return found


def rest_of(connection: socket.socket) -> bytes:
    """Everything that the server sends until it closes the connection."""
    parts = []
    with connection, contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def check_error(answer: bytes, status: int, message: str) -> None:
    """That the bytes are an error in the form of all errors, with the headers of all answers."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"content-security-policy: default-src 'none'" in head.lower()
    assert b"cache-control: no-store" in head.lower()
    assert b"connection: close" in head.lower()
    assert json.loads(body) == {"error": message}


@pytest.mark.parametrize("line", [b"hello\r\n\r\n", b"\x16\x03\x01\x00\x05"])
def test_what_is_not_http_is_refused_like_anything_else(line: bytes) -> None:
    with server("_connections.Connection.head_seconds = 0.5") as (process, address):
        answer = rest_of(connected(address, line))
        if answer.startswith(b"HTTP/1.1 408"):  # TLS has no line end that could show the error
            check_error(answer, 408, "the headers did not arrive within 0.5 seconds.")
        else:
            check_error(answer, 400, "this is not a valid HTTP request.")
        process.terminate()
        assert process.communicate(timeout=20) == ("ended\n", "")  # nothing is logged


def test_half_sent_headers_are_closed_in_time_also_when_they_trickle_in() -> None:
    with server("_connections.Connection.head_seconds = 0.5") as (_, address):
        silent, half = connected(address), connected(address, b"GET / HTTP/1.1\r\nhost: lo")
        second = connected(address, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert second.recv(65536).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET / HTTP/1.1\r\n")
        slow = connected(address, b"GET / HTTP/1.1\r\n")
        start = time.perf_counter()
        with contextlib.suppress(OSError):
            while time.perf_counter() - start < 10:
                slow.sendall(b"x: y\r\n")
                time.sleep(0.05)
        assert time.perf_counter() - start < 5
        slow.close()
        message = "the headers did not arrive within 0.5 seconds."
        assert rest_of(silent) == b""
        check_error(rest_of(half), 408, message)
        check_error(b"HTTP/1.1 4" + rest_of(second).partition(b"HTTP/1.1 4")[2], 408, message)
        assert httpx.get(address).status_code == 200


def test_a_refused_body_that_goes_on_and_on_is_closed_in_time() -> None:
    refusing = "from agnn.web.guards import guarded; echo = guarded(echo)"
    with server("_connections.Connection.head_seconds = 0.5", refusing) as (_, address):
        head = b"POST / HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 100000\r\n\r\n"
        slow = connected(address, head)
        assert slow.recv(65536).startswith(b"HTTP/1.1 400")
        start = time.perf_counter()
        with contextlib.suppress(OSError):
            while time.perf_counter() - start < 10:
                slow.sendall(b"x")
                time.sleep(0.05)
        assert time.perf_counter() - start < 5
        slow.close()


def test_a_client_that_does_not_read_its_answer_is_disconnected() -> None:
    large = b"x" * 30_000_000
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 30000000\r\n\r\n"
    with server("_connections.Connection.read_seconds = 0.2") as (process, address):
        deaf = connected(address, head)
        deaf.sendall(large)
        select.select([deaf], [], [], 60)  # until the answer has begun, however busy the machine
        time.sleep(2)
        assert len(rest_of(deaf)) < len(large)
        assert httpx.post(address, content=large).content == large  # one that reads gets it all
        process.terminate()
        assert process.communicate(timeout=20)[0] == "ended\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on descriptors")
@pytest.mark.parametrize("descriptors", [128, 64])
def test_with_too_many_half_open_connections_it_refuses_at_once_and_recovers(
    descriptors: int,
) -> None:
    setup = DESCRIPTORS.format(descriptors)
    with server("_connections.Connection.head_seconds = 3", setup) as (process, address):
        half = [connected(address, b"GET / HTTP/1.1\r\n") for _ in range(200)]
        start = time.perf_counter()
        with contextlib.suppress(httpx.RemoteProtocolError, httpx.ReadError):  # closed at once
            assert httpx.get(address, timeout=2).status_code == 503
        assert time.perf_counter() - start < 2
        watched = psutil.Process(process.pid)
        before = sum(watched.cpu_times()[:2])
        time.sleep(1)
        assert sum(watched.cpu_times()[:2]) - before < 0.5  # it does not spin
        time.sleep(max(0.0, start + 4 - time.perf_counter()))  # their time is over
        assert httpx.get(address, timeout=2).status_code == 200
        for each in half:
            each.close()
        process.terminate()
        out, err = process.communicate(timeout=20)
        assert (out, err) == ("ended\n", "")


def test_a_refused_connection_is_told_to_come_again() -> None:
    with server("from agnn.web import server; server.connection_limit = lambda: 1") as (_, address):
        first = connected(address, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        answer = rest_of(connected(address))
        message = "the server has too many connections; ask again in a second."
        check_error(answer, 503, message)
        assert b"retry-after: 1" in answer
        first.close()
        for _ in range(50):  # until the server has seen that the first is gone
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(address).status_code == 200:
                    return
            time.sleep(0.1)
        pytest.fail("the place of a closed connection was not given to another")


def test_outside_the_main_thread_it_serves_as_well() -> None:
    found: list[str] = []
    ready = threading.Event()

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def told(address: str) -> None:
        found.append(address)
        ready.set()

    threading.Thread(target=lambda: run_server(app, ready=told), daemon=True).start()
    assert ready.wait(20)
    assert httpx.get(found[0]).status_code == 204


def test_a_port_in_use_is_said_in_one_line() -> None:
    with bound_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 is in use .* --port"):
            bound_socket("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("127.0.0.1", 65536, "`port` must be from 0 .* got 65536"),
        ("127.0.0.1", -1, "got -1"),
        ("192.0.2.1", 0, "'192.0.2.1' is not an address of this machine"),
        ("no such name", 0, "'no such name' is not an address of this machine"),
        ("x" * 300, 0, "is not an address of this machine"),
    ],
)
def test_an_address_that_cannot_be_had_is_said_in_one_line(
    host: str, port: int, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        bound_socket(host, port)
    assert "\n" not in str(caught.value)


def test_addresses_are_written_as_browsers_take_them() -> None:
    with bound_socket("127.0.0.1", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    if socket.has_ipv6:
        try:
            newer = bound_socket("::1", 0)
        except InputError:
            pytest.skip("this machine has no IPv6 address")
        with newer:
            assert address_of(newer) == f"http://[::1]:{newer.getsockname()[1]}"


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch) -> None:
    check_packages()
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UnavailableError, match=r"uvicorn .* pip install 'agnn\[serve\]'"):
        check_packages()
