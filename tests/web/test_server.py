"""The server process: its address, its end, and addresses that cannot be had."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from agnn.errors import InputError, UnavailableError
from agnn.web.packages import check_packages
from agnn.web.server import address_of, bound_socket, run_server

PROGRAM = """
import sys
sys.path[:0] = {path!r}
from echo_application import echo
from agnn.web.server import run_server
run_server(echo, told=lambda address: print(address, flush=True))
print("ended")
"""


@contextmanager
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address."""
    path = [str(Path(__file__).parent)]
    program = [sys.executable, "-W", "error", "-c", PROGRAM.format(path=path)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True)  # noqa: S603 (our own program)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_server_says_where_it_is_answers_and_ends_when_told(stop: signal.Signals) -> None:
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


def test_outside_the_main_thread_it_serves_as_well() -> None:
    found: list[str] = []
    ready = threading.Event()

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def told(address: str) -> None:
        found.append(address)
        ready.set()

    threading.Thread(target=lambda: run_server(app, told=told), daemon=True).start()
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
        ("192.0.2.1", 0, "'192.0.2.1' is no address of this machine"),
        ("no such name", 0, "'no such name' is no address of this machine"),
        ("x" * 300, 0, "is no address of this machine"),
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
