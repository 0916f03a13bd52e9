"""Bodies are read up to a limit and within a time, before anybody else sees the request."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from agnn.web.asgi import Application, Message, Receive, Scope, Send, header, refuse

MAX_BODY: Final = 8 * 2**20  # bytes
_SKIPPED: Final = 4  # times the limit that is still read, and forgotten
_LINGER: Final = 3.0  # seconds for that
_SECONDS: Final = 30.0  # for the whole body: nobody holds a connection by sending slowly


class BodyLimit:
    """Refuses a body of more than `limit` bytes, announced or not, and one that does not arrive."""

    def __init__(self, app: Application, limit: int, seconds: float = _SECONDS) -> None:
        self.app, self.limit, self.seconds = app, limit, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body read, or answer 413, 408 or, if it is gone, nothing."""
        announced = header(scope, "content-length") or "0"
        if announced.isdecimal() and int(announced[:20]) > self.limit:
            await self._too_large(receive, send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._body(receive)
        except TimeoutError:
            message = f"the body did not arrive within {self.seconds:g} seconds."
            await refuse(send, 408, message, {"connection": "close"})
            return
        except _TooLargeError:
            await self._too_large(receive, send)
            return
        if body is not None:
            await self.app(scope, _replayed(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None where the client left."""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limit:
                raise _TooLargeError
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _too_large(self, receive: Receive, send: Send) -> None:
        # A client that is still sending when the connection closes never reads why: let it finish,
        # unless that takes long.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                await self._skip(receive)
        message = f"the body is larger than the limit of {self.limit:,} bytes."
        await refuse(send, 413, message, {"connection": "close"})

    async def _skip(self, receive: Receive) -> None:
        """Read on for a while and forget it."""
        size = 0
        while size <= _SKIPPED * self.limit:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                return


class _TooLargeError(Exception):
    """More came than may."""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body first and then what the connection says."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
