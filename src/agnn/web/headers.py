"""Headers on every answer: what a browser may do with it, which is as little as possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agnn.web.asgi import Application, Message, Receive, Scope, Send

# Scripts and styles only from this server and in files of their own; nothing from elsewhere.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OTHERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_UNLESS_SAID: Final = {"cache-control": "no-store"}  # a file that never changes may say otherwise


class SecurityHeaders:
    """Adds the headers to every answer, also to those that refuse."""

    def __init__(self, app: Application, policy: str = POLICY) -> None:
        self.app = app
        self.fixed = _pairs({"content-security-policy": policy, **_OTHERS})
        self.optional = _pairs(_UNLESS_SAID)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; the answer goes out with more headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = dict(message.get("headers", ()))
                ours = self.fixed | {k: v for k, v in self.optional.items() if k not in said}
                kept = [(k, v) for k, v in message.get("headers", ()) if k not in ours]
                message["headers"] = [*kept, *ours.items()]
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _pairs(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    return {key.encode(): value.encode() for key, value in headers.items()}
