"""The ASGI interface between servers and applications, and an answer that refuses a request."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_values(scope: Scope, name: str) -> list[str]:
    """All values that the request has for a header, named in lower case."""
    wanted = name.encode()
    return [value.decode("latin-1") for key, value in scope["headers"] if key == wanted]


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
