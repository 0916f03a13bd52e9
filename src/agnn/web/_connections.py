"""Limits on connections: how many are open at once, and how long a client may take.

uvicorn closes idle connections, but it waits for half-sent headers and for clients that do not
read their answer as long as they like, and asyncio logs in a busy loop when descriptors run out.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import time
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from agnn.web._asgi import error_body
from agnn.web.guards import FIXED_HEADERS

MOST_CONNECTIONS: Final = 500
HEAD_SECONDS: Final = 10.0  # for the request line and the headers
READ_SECONDS: Final = 60.0  # for a client to take the next part of its answer

_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_BATCH: Final = 100  # connections refused before the event loop gets its turn


def connection_limit() -> int:
    """The number of connections to allow: at most half of the descriptors of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if descriptors < 0 else max(1, min(MOST_CONNECTIONS, descriptors // 2))


class Listener(socket.socket):
    """A listening socket that refuses connections beyond a limit instead of keeping them waiting.

    A refused client gets status 503 at once. When the process has no descriptor left, one that is
    held in reserve is used to take the connection and close it, so that `accept` never fails for
    want of descriptors: asyncio would try again in a busy loop.
    """

    def __init__(self, *args: Any, most: int | None = None) -> None:
        super().__init__(*args)
        self.most = connection_limit() if most is None else most
        self._open: set[socket.socket] = set()
        self._reserve = os.open(os.devnull, os.O_RDONLY)

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection within the limit; those beyond it are refused on the way."""
        for _ in range(_BATCH):
            try:
                connection, address = super().accept()
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._refuse_with_reserve()
                continue
            if self._is_full():
                _refuse(connection)
                continue
            self._open.add(connection)
            return connection, address
        raise BlockingIOError  # what asyncio takes for "none at the moment"

    def close(self) -> None:
        """Close the socket and the descriptor in reserve."""
        super().close()
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1

    def _is_full(self) -> bool:
        if len(self._open) >= self.most:
            self._open = {each for each in self._open if each.fileno() >= 0}
        return len(self._open) >= self.most

    def _refuse_with_reserve(self) -> None:
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1
        try:
            connection, _ = super().accept()
        except BlockingIOError:
            raise
        except OSError:
            time.sleep(0.01)  # nothing helps at the moment: do not spin
            raise BlockingIOError from None
        else:
            _refuse(connection)
        finally:
            with contextlib.suppress(OSError):
                self._reserve = os.open(os.devnull, os.O_RDONLY)


def _refuse(connection: socket.socket) -> None:
    """Answer 503 and close; nothing here waits for the client."""
    body = error_body("the server has too many connections; ask again in a second.")
    headers = {
        **FIXED_HEADERS,
        b"content-type": b"application/json",
        b"content-length": str(len(body)).encode(),
        b"retry-after": b"1",
        b"connection": b"close",
    }
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers.items())
    with connection, contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.send(b"HTTP/1.1 503 Service Unavailable\r\n" + lines + b"\r\n" + body)
        # Closing a socket with unread bytes resets the connection and may discard the answer.
        connection.recv(65536)


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 connection with time limits, and errors in the form of all others."""

    head_seconds = HEAD_SECONDS
    read_seconds = READ_SECONDS
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request."""
        super().connection_made(transport)
        # With a limit of 0 asyncio reports every byte that the client has not taken.
        transport.set_write_buffer_limits(high=0)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        for timer in (self._head_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes on and see whether they complete the headers of a request."""
        super().data_received(data)
        self._watch_head()

    def pause_writing(self) -> None:
        """Start waiting for the client to read."""
        super().pause_writing()
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken all that was sent."""
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(400, "this is not a valid HTTP request.")

    def _watch_head(self) -> None:
        """Run the clock while the client has to complete a request before anything can be done.

        Further bytes do not set it back. A body that arrives after its answer was sent, such as
        one that was refused unread, counts as well.
        """
        is_waiting = self.cycle is None or self.cycle.response_complete
        if is_waiting and self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._head_is_late)
        elif not is_waiting and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(408, f"the headers did not arrive within {self.head_seconds:g} seconds.")
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Answer with an error and close the connection."""
        body = error_body(message)
        headers = [
            *FIXED_HEADERS.items(),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if self.transport.is_closing():
            return
        # An answer may be under way already; then the connection is only closed.
        with contextlib.suppress(h11.LocalProtocolError):
            head = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
