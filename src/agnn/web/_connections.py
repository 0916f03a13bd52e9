"""Limits on connections: how many are open at once, and how long a client may take.

uvicorn limits headers in size, requests in number and idle connections in time. It has no limit on
connections that have not completed a request (`limit_concurrency` counts after the headers), on
the time for headers, and on the time that a client may take to read its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from agnn.web._asgi import error_body
from agnn.web.guards import FIXED_HEADERS

MOST_CONNECTIONS: Final = 500
HEAD_SECONDS: Final = 10.0  # for the request line and the headers
READ_SECONDS: Final = 60.0  # for a client to take the next part of its answer


def connection_limit() -> int:
    """Return the number of connections to allow: at most half of this process's descriptors."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors < 0:
        return MOST_CONNECTIONS
    return max(1, min(MOST_CONNECTIONS, descriptors // 2))


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 connection with these limits, and errors in the form of all others."""

    limit = MOST_CONNECTIONS  # connections open at once
    head_seconds = HEAD_SECONDS
    read_seconds = READ_SECONDS
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request, or refuse it where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limit:
            message = "the server has too many connections; ask again in a second."
            self._refuse(503, message, [(b"retry-after", b"1")])
            return
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

    def _refuse(
        self, status: int, message: str, more_headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        """Answer with an error and close the connection."""
        body = error_body(message)
        headers = [
            *FIXED_HEADERS.items(),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *more_headers,
        ]
        if self.transport.is_closing():
            return
        # An answer may be under way already; then the connection is only closed.
        with contextlib.suppress(h11.LocalProtocolError):
            head = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self._discard_unread_bytes()
        self.transport.close()

    def _discard_unread_bytes(self) -> None:
        # Closing a socket with unread bytes resets the connection and may discard the answer.
        sock = self.transport.get_extra_info("socket")
        with (
            contextlib.suppress(OSError),
            socket.fromfd(sock.fileno(), sock.family, sock.type) as same_connection,
        ):
            same_connection.recv(65536)
