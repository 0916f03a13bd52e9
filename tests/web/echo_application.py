"""The smallest application: it answers with the body it was sent."""

from __future__ import annotations

from agnn.web._asgi import Receive, Scope, Send


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the body it was sent."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(b"content-type", b"text/plain"), (b"x-own", b"yes")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
