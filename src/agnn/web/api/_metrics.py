"""Counts and seconds by route for Prometheus, and one line of log per request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client import CollectorRegistry, Counter, Gauge, Info, generate_latest

from agnn.web._asgi import Application, Message, Receive, Scope, Send

__all__ = ["CONTENT_TYPE", "Metrics", "Observer"]

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Metrics:
    """What was asked so far and how long it took, with facts about the model.

    `numbers` become gauges named agnn_model_NAME, `words` the labels of agnn_model_info.
    """

    def __init__(self, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
        own = self._registry = CollectorRegistry()
        labels = ("route", "method")
        self._requests = Counter(
            "agnn_requests", "Requests answered.", (*labels, "status"), registry=own
        )
        self._seconds = Counter(
            "agnn_request_seconds", "Time spent on requests.", labels, registry=own
        )
        start = Gauge("agnn_start_time_seconds", "When the server started.", registry=own)
        start.set_to_current_time()
        Info("agnn_model", "The model that is served.", registry=own).info(dict(words))
        for name, value in numbers.items():
            Gauge(f"agnn_model_{name}", "A fact about the model.", registry=own).set(value)

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).inc(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self._registry)


class Observer:
    """Counts every request and logs a line about it, without bodies, queries or headers."""

    def __init__(self, app: Application, metrics: Metrics, log: Callable[[str], None]) -> None:
        self.app = app
        self.metrics = metrics
        self.log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and record its status and time."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0
        start = time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            self._finish(scope, status, time.perf_counter() - start)

    def _finish(self, scope: Scope, status: int, seconds: float) -> None:
        # Clients choose paths and methods: as labels they would grow without limit.
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.add(route, method, status, seconds)
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        who = (scope.get("client") or ("-",))[0]
        path = scope["path"][:200].encode("unicode_escape").decode()  # no line ends, no colours
        self.log(f"{when} {who} {method} {path} {status or '-'} {1000 * seconds:.0f} ms")
