"""The explorer's page as a test sees it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from explore_runs import SCRIPT, SCRIPT_ID

TARGET = 100
PATIENCE = 60.0  # seconds: a loaded machine is slow


class ExplorerPage:
    """A page of a fresh browser that records what it asks for and what it complains about."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.address, self.home = address, f"{address}/"
        self.context = browser.new_context(accept_downloads=True, **context)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._console)

    def _console(self, message: Any) -> None:
        # The browser notes every refusal of the server; a sentence on the page is its test.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def open(self, **state: Any) -> ExplorerPage:
        """Go to the page with this state in the link, and wait until it is drawn."""
        link = f"#{urlencode(state)}" if state else ""
        self.page.goto(f"{self.home}{link}")
        self.until(lambda: self.loads() > 0 or self.page.locator("#message").is_visible())
        return self

    def loads(self) -> int:
        """How many times a neighbourhood was drawn."""
        return int(self.page.evaluate("performance.getEntriesByName('agnn-load').length"))

    def milliseconds(self) -> list[float]:
        """How long each took, from the question to the paint."""
        entries = "performance.getEntriesByName('agnn-load').map((each) => each.duration)"
        return list(self.page.evaluate(entries))

    def after_load(self, action: Callable[[], Any]) -> None:
        """Do something and wait until the next neighbourhood is drawn."""
        # One that is on the page already is counted after its paint.
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        before = self.loads()
        action()
        self.until(lambda: self.loads() > before)

    def until(self, holds: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait until it holds; Playwright's own waiting needs `eval`, which the policy forbids."""
        end = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < end, "it never came true"
            self.page.wait_for_timeout(30)

    def search(self, query: str) -> Any:
        """Type into the search field; gives back the nodes that are then listed."""
        self.page.fill("#search", query)
        found = self.page.locator("#found")
        self.until(lambda: found.get_attribute("data-query") == query and found.is_visible())
        return self.page.locator("#found [data-id]")

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def title(self) -> str:
        """The node that is shown."""
        return self.text("#answer-title")

    def dot(self, node: int, side: int = 0) -> Any:
        """The mark of a node, by its index in the data."""
        return self.page.locator(f"[data-side='{side}'] [data-node='{node}']")

    def radius(self, node: int, side: int = 0) -> float:
        """The radius of a node's mark in pixels."""
        move = self.dot(node, side).locator("path").first.get_attribute("transform")
        return float(move.removeprefix("scale(").removesuffix(")"))

    def close(self) -> None:
        self.context.close()


Opener = Callable[..., ExplorerPage]


def at(node: int) -> str:
    """The id of a node."""
    return SCRIPT_ID if node == SCRIPT else f"paper {node}"


def neighbours(run: Any, node: int) -> list[int]:
    """The nodes that are joined to one."""
    graph = run.graph
    found: list[int] = graph.senders[graph.offsets[node] : graph.offsets[node + 1]].tolist()
    return found
