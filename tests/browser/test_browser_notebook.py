"""The explorer in a notebook cell: a frame in another page, without a server or a network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explorer_page import PATIENCE, at

from explore_runs import ALONE, HUB


class Notebook:
    """A page that has the HTML of a cell's output inside, as a notebook has."""

    def __init__(self, browser: Any, file: Path, cell: Any) -> None:
        file.write_text(f"<!doctype html><title>Notebook</title><body>{cell._repr_html_()}</body>")
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(offline=True)
        page = self.context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._console)
        page.goto(file.as_uri())
        self.page = page
        self.frame = next(frame for frame in page.frames if frame != page.main_frame)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def until_drawn(self, times: int = 1) -> None:
        """Wait until so many neighbourhoods were drawn."""
        end = time.monotonic() + PATIENCE
        count = "performance.getEntriesByName('agnn-load').length"
        while self.frame.evaluate(count) < times:
            assert time.monotonic() < end, (self.complaints, self.frame.content()[:500])
            self.page.wait_for_timeout(30)


@pytest.fixture
def notebook(browser: Any, runs: list[Any], tmp_path: Path) -> Iterator[Notebook]:
    cell = runs[0].explorer(nodes=[at(ALONE), at(HUB), at(100)], height=640)
    opened = Notebook(browser, tmp_path / "notebook.html", cell)
    opened.until_drawn()
    yield opened
    assert opened.complaints == []
    own = ("file:", "data:", "blob:", "about:")
    assert [url for url in opened.requests if not url.startswith(own)] == []
    opened.context.close()


def test_a_cell_shows_a_node_and_goes_to_another(notebook: Notebook) -> None:
    frame = notebook.frame
    before = frame.locator("#answer-title").inner_text()
    wanted = at(HUB) if before != at(HUB) else at(100)
    frame.fill("#search", wanted)
    frame.press("#search", "Enter")
    notebook.until_drawn(2)
    assert frame.locator("#answer-title").inner_text() != before
    assert frame.locator(".dot, .group").count() > 1


def test_the_frame_has_its_height_and_reaches_nothing_of_the_notebook(notebook: Notebook) -> None:
    box = notebook.page.locator("iframe").bounding_box()
    assert box is not None
    assert box["height"] == pytest.approx(642, abs=3)  # with its border
    reach = "() => { try { return String(parent.document.title) } catch { return 'refused' } }"
    assert notebook.frame.evaluate(reach) == "refused"
    assert notebook.page.title() == "Notebook"
