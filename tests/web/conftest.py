"""Applications asked without a network: a client that speaks ASGI, and an echo to ask."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from agnn.web.asgi import Application, Receive, Scope, Send


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the body it was sent."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(b"content-type", b"text/plain"), (b"x-own", b"yes")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def ask(app: Application, method: str = "GET", path: str = "/", **options: Any) -> httpx.Response:
    """One request to an application, as http://localhost unless the path says otherwise."""

    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(request())


@pytest.fixture(name="echo")
def _echo() -> Application:
    return echo


@pytest.fixture(name="ask")
def _ask() -> Any:
    return ask
