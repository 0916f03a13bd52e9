"""One line of log and one count for every request, whoever answered it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from agnn.web.api.metrics import Metrics
from agnn.web.asgi import Application, Message, Receive, Scope, Send

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Observer:
    """Counts requests and has each told in a line, without bodies, queries or headers."""

    def __init__(self, app: Application, metrics: Metrics, told: Callable[[str], None]) -> None:
        self.app, self.metrics, self.told = app, metrics, told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and remember what became of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            self._finish(scope, status, time.perf_counter() - start)

    def _finish(self, scope: Scope, status: int, seconds: float) -> None:
        # Strangers choose paths and methods: as labels they would grow without end.
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.add(route, method, status, seconds)
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        who = (scope.get("client") or ("-",))[0]
        path = scope["path"][:200].encode("unicode_escape").decode()  # no line ends, no colours
        self.told(f"{when} {who} {method} {path} {status or '-'} {1000 * seconds:.0f} ms")
