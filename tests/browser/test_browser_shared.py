"""The explorer as one file, opened without a server, beside the served page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explorer_page import ExplorerPage, Opener, at, neighbours
from test_browser_axe import axe, violations  # noqa: F401 (a fixture)

from agnn.web.explore import share
from explore_runs import ALONE, HUB, NODES, SCRIPT

SIX = (ALONE, HUB, SCRIPT, 100, 130, 185)  # isolated, a hub, a hostile id, ordinary, unlabelled
HOSTILE = "</script><img src=x onerror='window.broken = 1'>"


class SharedPage(ExplorerPage):
    """A file in a browser that has no network."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        super().__init__(browser, "", offline=True, **context)
        self.home = file.as_uri()

    def close(self) -> None:
        assert self.complaints == []
        own = ("file:", "data:", "blob:")
        assert [url for url in self.requests if not url.startswith(own)] == []
        super().close()


@pytest.fixture(scope="module")
def files(runs: list[Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of a run: whole, of a cohort, of some nodes with hostile titles, of two runs."""
    folder = tmp_path_factory.mktemp("shared")
    found = {name: folder / f"{name}.html" for name in ("whole", "cohort", "titles", "two")}
    share(runs[0], found["whole"])
    share(runs[0], found["cohort"], cohort="unsure")
    texts = {
        "title": tuple(f"{HOSTILE} {k}" for k in range(NODES)),
        "url": ("javascript:window.broken = 1",) * NODES,
        "description": (HOSTILE,) * NODES,
    }
    titled = replace(runs[0], data=replace(runs[0].data, texts=texts), folder=None)
    share(titled, found["titles"], nodes=[at(100), at(130)])
    share(runs[0], found["two"], nodes=[at(node) for node in SIX], compare=runs[1])
    return found


@pytest.fixture
def shared(browser: Any, files: dict[str, Path]) -> Iterator[Callable[..., SharedPage]]:
    """Opens a file; after the test it may not have complained or asked anybody."""
    pages: list[SharedPage] = []

    def opened(name: str = "whole", *, context: Any = None, **state: Any) -> SharedPage:
        pages.append(SharedPage(browser, files[name], **(context or {})))
        pages[-1].open(**state)
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


def words(page: ExplorerPage) -> list[str]:
    """All that the page says of a node, without what takes a server."""
    page.until(lambda: page.page.locator("#set[aria-busy]").count() == 0)  # its set comes later
    page.page.evaluate(
        "document.querySelectorAll('[data-served], #more, #shared').forEach((e) => e.remove())"
    )
    if page.page.locator("#near-more").is_visible():
        page.page.locator("#near-more").click()
    marks = "[...document.querySelectorAll('.dot')].map((each) => each.getAttribute('aria-label'))"
    return [page.text("#node-view"), page.text("aside"), *sorted(page.page.evaluate(marks))]


@pytest.mark.parametrize("lens", ["contribution", "attention"])
def test_it_says_of_a_node_what_the_server_says(
    shared: Callable[..., SharedPage], explorer: Opener, lens: str
) -> None:
    file, served = shared(lens=lens, node=at(SIX[0])), explorer(lens=lens, node=at(SIX[0]))
    for node in SIX:
        for page in (file, served):
            page.page.goto("about:blank")
            page.open(node=at(node), lens=lens)
        for one, two in zip(words(file), words(served), strict=True):
            assert one == two


def test_two_runs_are_side_by_side(shared: Callable[..., SharedPage], explorer: Opener) -> None:
    state = {"node": at(130), "lens": "attention", "layer": 1}
    assert words(shared("two", **state)) == words(explorer(compare=True, **state))


def test_pictures_and_layers_are_those_of_the_server(
    shared: Callable[..., SharedPage], explorer: Opener
) -> None:
    file, served = (open_it(node=at(130), lens="attention") for open_it in (shared, explorer))
    read = """() => [...document.querySelectorAll(".canvas line:not(.hit)")].map((each) =>
      ["x1", "y1", "x2", "y2", "stroke-width"].map((key) => Number(each.getAttribute(key))))"""
    own, other = file.page.evaluate(read), served.page.evaluate(read)
    assert len(own) == len(other) > 10
    for one, two in zip(own, other, strict=True):
        assert one == pytest.approx(two, abs=0.35)  # pixels
    tips = []
    for page in (file, served):
        page.page.locator(".dot[data-dot='3']").hover()
        page.until(page.page.locator("#tip").is_visible)
        tips.append(page.text("#tip"))
    assert "P " in tips[0]
    assert tips[0] == tips[1]


def test_one_edge_can_be_removed(shared: Callable[..., SharedPage], explorer: Opener) -> None:
    first, second = neighbours_by_size(explorer)[:2]
    pages = [open_it(node=at(100), lens="removal") for open_it in (shared, explorer)]
    said = []
    for page in pages:
        effect = page.dot(first).get_attribute("aria-label")
        page.page.locator(f"[data-row='{first}'] .cut").click()
        page.until(lambda page=page: "Without 1 edge" in page.text("#spoken"))
        said.append((page.text("#answer-card .bars"), effect))
    assert said[0] == said[1]
    assert "points for the prediction" in said[0][1]
    pages[0].page.locator(f"[data-row='{second}'] .cut").click()
    pages[0].until(lambda: "agnn explore" in pages[0].text("#message"))


def neighbours_by_size(explorer: Opener) -> list[int]:
    page = explorer(node=at(100), hops=1)
    rows = page.page.locator("#near tbody tr[data-row]")
    return [int(row.get_attribute("data-row")) for row in rows.all() if row.locator(".cut").count()]


def test_the_map_the_cohorts_and_the_search_work(shared: Callable[..., SharedPage]) -> None:
    page = shared(cohort="wrong")
    assert "all nodes" in page.text("#shared")
    assert "of the predictions" in page.text("#map-about")
    page.after_load(lambda: page.page.locator("#next").click())
    assert page.text("#which").startswith("1 of ")
    assert "This is wrong" in page.text("#verdict")
    link = page.page.url
    options = page.search("paper 17")
    assert options.first.get_attribute("data-id") == "paper 17"
    page.after_load(lambda: page.page.keyboard.press("Enter"))
    assert page.title() == "paper 17"
    page.after_load(lambda: page.page.go_back())
    assert page.page.url == link
    page.page.locator("#classes > summary").click()
    page.until(lambda: page.page.locator("#heat button").count() == 9)
    page.page.locator("#heat button").first.click()
    page.until(lambda: page.page.locator("#cell tbody tr").count() > 3)


def test_the_search_finds_what_the_server_finds(
    shared: Callable[..., SharedPage], explorer: Opener
) -> None:
    file, served = shared(), explorer()
    for query in ("paper 1", "7", "RED", " b", "<", "nobody"):
        listed = [
            [each.text_content() for each in page.search(query).all()] for page in (file, served)
        ]
        assert listed[0] == listed[1]


def test_a_file_of_a_cohort_says_what_is_not_in_it(
    shared: Callable[..., SharedPage], runs: list[Any]
) -> None:
    page = shared("cohort")
    assert "(Unsure)" in page.text("#shared")
    assert page.page.locator("#who").input_value() == "unsure"
    page.after_load(lambda: page.page.locator("#next").click())
    inside = {at(int(node)) for node in range(NODES) if runs[0].probabilities[node].max() < 0.5}
    assert page.title() in inside
    page.page.evaluate("location.hash = '#node=paper+1234567'")
    page.until(lambda: "is not in this file" in page.text("#message"))
    page.until(page.page.locator("#map-view").is_visible)
    assert page.page.locator("#cohort-list button").count() > 0


def test_hostile_names_stay_text(shared: Callable[..., SharedPage], files: dict[str, Path]) -> None:
    page = shared("titles", node=at(100))
    assert page.title() == f"{HOSTILE} 100 paper 100"
    assert page.page.locator("#about-node a, main img").count() == 0
    assert page.page.evaluate("window.broken") is None
    assert "onerror" not in files["titles"].read_text(encoding="utf-8")
    # The policy of the page lets no other script run.
    page.page.evaluate("document.body.append(Object.assign(document.createElement('script'), "
                       "{ textContent: 'window.broken = 2' }))")  # fmt: skip
    assert page.page.evaluate("window.broken") is None
    assert len(page.complaints) == 1
    assert "Content Security Policy" in page.complaints.pop()


def test_pictures_can_be_saved(shared: Callable[..., SharedPage], tmp_path: Path) -> None:
    page = shared(node=at(100))
    for kind in ("svg", "png"):
        with page.page.expect_download() as download:
            page.page.locator(f"#save-{kind}").click()
        download.value.save_as(tmp_path / f"it.{kind}")
        assert (tmp_path / f"it.{kind}").stat().st_size > 2000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    shared: Callable[..., SharedPage],
    axe: str,  # noqa: F811
    scheme: str,
) -> None:
    page = shared("two", context={"color_scheme": scheme}, node=at(100))
    assert violations(page.page, axe) == []


def test_a_neighbour_is_walked_to(shared: Callable[..., SharedPage], runs: list[Any]) -> None:
    page = shared(node=at(100))
    node = neighbours(runs[0], 100)[0]
    page.after_load(lambda: page.dot(node).click())
    assert page.title() == at(node)
