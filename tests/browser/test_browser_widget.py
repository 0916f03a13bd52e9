"""The explorer as a widget in marimo: labels that are given in the page come back to Python."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from ast import literal_eval
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from explorer_page import PATIENCE, at

from explore_runs import HUB

FRAME = "agnn-widget"
# The second cell runs again whenever the labels are others, and shows the explorer again.
NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo
    from pathlib import Path
    from agnn import load_run

    run = load_run({folder!r})
    explorer = marimo.ui.anywidget(run.explorer(nodes={nodes!r}, height=900))
    explorer
    return Path, explorer, marimo


@app.cell
def _(Path, explorer, marimo):
    Path({kept!r}).write_text(repr(explorer.labels))
    marimo.vstack([marimo.plain_text(repr(explorer.labels)), explorer])
    return
"""


class MarimoPage:
    """A notebook of marimo that runs in a browser."""

    def __init__(self, browser: Any, address: str, kept: Path) -> None:
        self.kept = kept
        self.complaints: list[str] = []
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)
        self.until(lambda: self.labels() == {} and len(self.views()) == 2)

    def views(self) -> list[Any]:
        """The pages of the explorer that know their labels, one for each place that shows it."""
        frames = [frame for frame in self.page.frames if frame.name == FRAME]
        return [frame for frame in frames if "Python" in frame.locator("#label-count").inner_text()]

    def view_of(self, node: str) -> Any:
        """The first page, after it went to this node."""
        view = self.views()[0]
        view.fill("#search", node)
        view.press("#search", "Enter")
        self.until(lambda: view.locator("#answer-title").inner_text() == node)
        return view

    def labels(self) -> dict[str, str] | None:
        """What the second cell read from the explorer; None before it ran."""
        text = self.kept.read_text(encoding="utf-8") if self.kept.exists() else ""
        return literal_eval(text) if text else None

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, (self.labels(), self.complaints)
            self.page.wait_for_timeout(50)


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def served(runs: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of the notebook, and the file in which its second cell writes the labels."""
    pytest.importorskip("marimo")
    folder = tmp_path_factory.mktemp("marimo")
    kept, file, log = (folder / name for name in ("labels.txt", "labels.py", "marimo.log"))
    text = NOTEBOOK.format(folder=str(runs[0].folder), nodes=[at(100), at(HUB)], kept=str(kept))
    file.write_text(text, encoding="utf-8")
    port = free_port()
    command = [
        sys.executable, "-m", "marimo", "-q", "run", str(file), "--headless", "--no-token",
        "--port", str(port),
    ]  # fmt: skip
    settings = os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}  # no user's
    with log.open("wb") as stream:
        server = subprocess.Popen(command, stdout=stream, stderr=stream, env=settings)  # noqa: S603
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/", kept
    finally:
        server.terminate()
        server.wait(PATIENCE)


@pytest.fixture
def notebook(browser: Any, served: tuple[str, Path]) -> Iterator[MarimoPage]:
    """The notebook with a Python of its own, without labels."""
    address, kept = served
    kept.unlink(missing_ok=True)
    opened = MarimoPage(browser, address, kept)
    yield opened
    opened.context.close()
    assert opened.complaints == []


def wait_for(address: str, server: Any, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(address, timeout=5):  # noqa: S310 (our own)
                return
        except OSError:
            assert server.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < end, log.read_text(encoding="utf-8")
            time.sleep(0.1)


def test_a_label_comes_back_to_python_and_is_shown_in_every_view(notebook: MarimoPage) -> None:
    node = at(HUB)
    view = notebook.view_of(node)
    for hidden in ("#label-train", "#label-csv", "#queue-next"):
        assert not view.locator(hidden).is_visible()
    assert view.locator("#label-undo").is_disabled()
    view.locator("#label-classes button").nth(1).click()
    notebook.until(lambda: notebook.labels() == {node: "green"})
    notebook.until(lambda: f"Kept: {node} as green" in view.locator("#label-kept").inner_text())
    for each in (0, -1):
        count = notebook.views()[each].locator("#label-count")
        notebook.until(lambda count=count: "1 label, kept in Python." in count.inner_text())
    view.locator("#label-undo").click()
    notebook.until(lambda: notebook.labels() == {})
    view.locator("#label-classes button").nth(2).click()
    notebook.until(lambda: notebook.labels() == {node: "<b>blue</b>"})


def test_only_the_page_of_the_widget_can_give_labels(notebook: MarimoPage) -> None:
    node = at(HUB)
    view = notebook.view_of(node)
    message = {"sent": "labels", "nodes": [3], "label": 0}
    notebook.page.evaluate("(message) => postMessage(message, '*')", message)  # of another window
    # The page itself may send what it likes; Python takes nodes and classes of the data.
    for nodes, label in ([[10**6], 0], [[4], 7], ["all", 0]):
        unknown = {"sent": "labels", "nodes": nodes, "label": label}
        view.evaluate("(message) => parent.postMessage(message, '*')", unknown)
    view.locator("#label-classes button").nth(1).click()
    notebook.until(lambda: bool(notebook.labels()))
    assert notebook.labels() == {node: "green"}


def test_the_frame_reaches_nothing_of_the_notebook(notebook: MarimoPage) -> None:
    reach = "() => { try { return String(parent.document.title) } catch { return 'refused' } }"
    assert notebook.views()[0].evaluate(reach) == "refused"
