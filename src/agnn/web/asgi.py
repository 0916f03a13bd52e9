"""What servers and applications say to each other (ASGI), and an answer that refuses."""

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
    """Every value that the request gives for a header, named in lower case."""
    wanted = name.encode()
    return [value.decode("latin-1") for key, value in scope["headers"] if key == wanted]


def header(scope: Scope, name: str) -> str | None:
    """The first value of a header; None where there is none."""
    return next(iter(header_values(scope, name)), None)


async def refuse(
    send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    """Answer with the one form that every error has: {"error": message}."""
    body = json.dumps({"error": message}).encode()
    lines = {"content-type": "application/json", "content-length": str(len(body))}
    pairs = [(k.encode(), v.encode("latin-1")) for k, v in (lines | (headers or {})).items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
