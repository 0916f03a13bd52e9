"""Run a server on one address, report the address once ready, stop on a signal.

>>> with bound_socket("127.0.0.1", 0) as listener:  # 0: a free port
...     address_of(listener).rpartition(":")[0]
'http://127.0.0.1'
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import uvicorn

from agnn.errors import InputError
from agnn.web._asgi import Application
from agnn.web._connections import Connection, connection_limit

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_WAITING: Final = 2048  # connections that the system keeps until they are accepted
_PATIENCE: Final = 3  # seconds for requests under way to finish after a signal


def run_server(
    app: Application, host: str = "127.0.0.1", port: int = 0, *, ready: Callable[[str], None]
) -> None:
    """Serve `app` until Ctrl-C or SIGTERM.

    Port 0 takes a free one. `ready` is called with the address, such as "http://127.0.0.1:8000",
    as soon as requests are answered there.
    """
    Connection.limit = connection_limit()
    with bound_socket(host, port) as listener:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            loop="asyncio",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            # A refused connection is closed a few turns later: descriptors must last until then.
            backlog=max(1, Connection.limit // 8),
            timeout_graceful_shutdown=_PATIENCE,
        )
        with _short_thread_turns():
            _Server(config, lambda: ready(address_of(listener))).run(sockets=[listener])


@contextlib.contextmanager
def _short_thread_turns() -> Iterator[None]:
    """Let the event loop interrupt computing threads after 0.5 ms instead of Python's 5 ms.

    The loop gives up the interpreter lock at every read and write, several times per request.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to this address, not yet listening; an `InputError` if that fails."""
    if not 0 <= port <= 65535:
        raise InputError(f"`port` must be from 0 (a free one) to 65535; got {port}.")
    try:
        family, kind, protocol, _, address = _stream_address(host, port)
    except (OSError, UnicodeError) as error:
        raise InputError(f"`host` '{host}' is not an address of this machine: {error}.") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise InputError(_why_not(error, host, port)) from error
    return listener


def _stream_address(host: str, port: int) -> tuple[Any, ...]:
    # asyncio sets TCP_NODELAY only on sockets that name TCP as their protocol. Without it every
    # answer on a kept connection waits some 40 ms for the client's delayed acknowledgement.
    tcp = socket.IPPROTO_TCP
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=tcp)[0]


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use by another program; choose another --port, or 0 "
            f"for a free one."
        )
    if error.errno == errno.EACCES:
        return f"port {port} is reserved for the system; choose a --port from 1024 up."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"`host` '{host}' is not an address of this machine."
    return f"cannot listen at {host}, port {port}: {os.strerror(error.errno or 0)}."


def address_of(listener: socket.socket) -> str:
    """The address of a bound socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """uvicorn's server with a callback when it is ready; it returns when a signal stops it.

    uvicorn's own raises the signal again. Here a signal is the ordinary way to stop.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio accepts `backlog` connections in one turn of its loop, which must be few; the
        # system may keep more waiting, or their clients would try again after a second only.
        for listener in sockets or ():
            listener.listen(_WAITING)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[signal.Signals, Any] = {
            number: signal.signal(number, self.handle_exit) for number in _SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
