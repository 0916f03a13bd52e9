"""The ASGI interface between servers and applications, and an answer that refuses a request."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_values(scope: Scope, name: str) -> list[str]:
    """All values that the request has for a header, named in lower case."""
    encoded = name.encode()
    return [value.decode("latin-1") for key, value in scope["headers"] if key == encoded]


def header(scope: Scope, name: str) -> str | None:
    """The first value of a header, or None."""
    return next(iter(header_values(scope, name)), None)


def error_body(message: str) -> bytes:
    """The body of every error: {"error": message}, in ASCII whatever the message quotes."""
    return json.dumps({"error": message}).encode()


async def refuse(
    send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    """Answer with an error."""
    body = error_body(message)
    lines = {"content-type": "application/json", "content-length": str(len(body))}
    pairs = [(k.encode(), v.encode("latin-1")) for k, v in (lines | (headers or {})).items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


MAX_BODY: Final = 8 * 2**20  # bytes
_SKIPPED: Final = 4  # times the limit that is read and discarded before the connection closes
_LINGER: Final = 3.0  # seconds for that reading
_SECONDS: Final = 30.0  # for the whole body, so that slow senders cannot hold connections


class BodyLimit:
    """Refuses a body that is larger than `limit` bytes or arrives too slowly."""

    def __init__(self, app: Application, limit: int, seconds: float = _SECONDS) -> None:
        self.app = app
        self.limit = limit
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or answer 413 or 408."""
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
            await self.app(scope, _replay_body(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body, or None if the client left."""
        parts = []
        size = 0
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
        # A client that is still sending when the connection closes never reads the answer: let it
        # finish, unless that takes long.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                await self._skip(receive)
        message = f"the body is larger than the limit of {self.limit:,} bytes."
        await refuse(send, 413, message, {"connection": "close"})

    async def _skip(self, receive: Receive) -> None:
        """Read and discard the rest of the body, up to a limit."""
        size = 0
        while size <= _SKIPPED * self.limit:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                return


class _TooLargeError(Exception):
    """The body exceeds the limit."""


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body first and then the messages of the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
