"""A real browser and the explorer in it; without one every test says what is missing."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from explorer_page import ExplorerPage, Opener

from agnn.runs import load_run
from explore_runs import write_run

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ["--no-sandbox", "--disable-background-networking"]


def chromium() -> str | None:
    """Where the browser is: as AGNN_CHROMIUM says, or in the path."""
    named = os.environ.get("AGNN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, PROGRAMS)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    lacking = None
    if find_spec("playwright") is None:
        lacking = "playwright is not installed; `make test-browser` gets it"
    elif chromium() is None:
        lacking = "there is no chromium; `make test-browser` gets it"
    for item in items:
        if lacking and "browser" in item.path.parts:
            item.add_marker(pytest.mark.skip(reason=lacking))


# By module, not by session: while Playwright runs, no other test may start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=SWITCHES)
        yield running
        running.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """A run of AGNN and one of GCN on the same small graph."""

    folder = tmp_path_factory.mktemp("runs")
    return [load_run(write_run(folder / name, name)) for name in ("agnn", "gcn")]


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[..., str]]:
    """Serves an application from a thread and gives back its address."""
    import uvicorn

    from agnn.web.server import address_of, bound_socket

    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def serve(application: Any) -> str:
        listener = bound_socket("127.0.0.1", 0)
        config = uvicorn.Config(application, log_config=None, http="h11", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return address_of(listener)

    yield serve
    for server, thread in running:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def served(started: Callable[..., str]) -> Callable[..., str]:
    """Serves an explorer and gives back its address."""
    from agnn.web.explore import explore_app

    return lambda explorer, labelling=None: started(explore_app(explorer, labelling))


@pytest.fixture(scope="session")
def one(runs: list[Any], served: Callable[[Any], str]) -> str:
    """The address of an explorer of one run."""
    from agnn.web.explore import Explorer

    return served(Explorer(runs[:1]))


@pytest.fixture(scope="session")
def two(runs: list[Any], served: Callable[[Any], str]) -> str:
    """The address of an explorer of two runs."""
    from agnn.web.explore import Explorer

    return served(Explorer(runs))


@pytest.fixture
def explorer(browser: Any, one: str, two: str) -> Iterator[Opener]:
    """Opens pages; after the test none may have complained or asked anyone else."""
    pages: list[ExplorerPage] = []

    def opened(*, compare: bool = False, context: Any = None, **state: Any) -> ExplorerPage:
        page = ExplorerPage(browser, two if compare else one, **(context or {}))
        pages.append(page)
        return page.open(**state)

    yield opened
    for page in pages:
        assert page.complaints == []
        own = (f"{page.address}/", f"blob:{page.address}/")
        assert [url for url in page.requests if not url.startswith(own)] == []
        page.close()
