"""Bodies are read up to a limit and within a time, before anybody else sees the request."""

from __future__ import annotations

import asyncio
from typing import Final

from agnn.web.asgi import Application, Message, Receive, Scope, Send, header, refuse

MAX_BODY: Final = 8 * 2**20  # bytes
_SECONDS: Final = 30.0  # for the whole body: nobody holds a connection by sending slowly


class BodyLimit:
    """Refuses a body of more than `limit` bytes, announced or not, and one that does not arrive."""

    def __init__(self, app: Application, limit: int, seconds: float = _SECONDS) -> None:
        self.app, self.limit, self.seconds = app, limit, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body read, or answer 413, 408 or, if it is gone, nothing."""
        announced = header(scope, "content-length") or "0"
        if announced.isdecimal() and int(announced[:20]) > self.limit:
            await self._too_large(send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._body(receive)
        except TimeoutError:
            message = f"the body did not arrive within {self.seconds:g} seconds."
            await refuse(send, 408, message, {"connection": "close"})
            return
        except _TooLargeError:
            await self._too_large(send)
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

    async def _too_large(self, send: Send) -> None:
        message = f"the body is larger than the limit of {self.limit:,} bytes."
        await refuse(send, 413, message, {"connection": "close"})


class _TooLargeError(Exception):
    """More came than may."""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body first and then what the connection says."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
