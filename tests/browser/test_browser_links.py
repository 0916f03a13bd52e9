"""The view as a file and as a link, in a real browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_page import ExplorerPage, Opener, at, neighbours

from explore_runs import SCRIPT, SCRIPT_ID

TARGET = 100


def downloaded(page: ExplorerPage, button: str) -> tuple[str, Path]:
    with page.page.expect_download() as waiting:
        page.page.locator(button).click()
    return waiting.value.suggested_filename, Path(waiting.value.path())


def test_the_view_comes_as_svg_with_every_node_in_it(explorer: Opener) -> None:
    page = explorer(compare=True, node=at(SCRIPT), hops=1)
    name, path = downloaded(page, "#save-svg")
    assert name == "agnn-script-window.broken-1-script.svg"
    root = ET.parse(path).getroot()  # noqa: S314 (our own file)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    drawn = [each.get("data-node") for each in root.iter(f"{space}g") if each.get("data-node")]
    shown = [each.get_attribute("data-node") for each in page.page.locator(".dot").all()]
    assert sorted(drawn) == sorted(shown)
    words = [each.text for each in root.iter(f"{space}text")]
    assert any(word.startswith(f"{SCRIPT_ID} · papers, 1 hop") for word in words)
    assert [word.split(":")[0] for word in words if word.startswith(("AGNN:", "GCN:"))] == [
        "AGNN", "GCN",
    ]  # fmt: skip
    assert {"target", "speaks against it"} <= set(words)
    assert any(word.startswith("Area and number: what the node adds") for word in words)
    assert list(root.iter(f"{space}script")) == []


def test_the_view_comes_as_png_at_twice_its_size(explorer: Opener) -> None:
    page = explorer(node=at(TARGET))
    name, path = downloaded(page, "#save-png")
    assert name == f"agnn-paper-{TARGET}.png"
    from matplotlib.image import imread

    pixels = imread(path)
    assert pixels.shape[1] == 2 * 760
    assert len(np.unique(pixels[::9, ::9].reshape(-1, pixels.shape[2]), axis=0)) > 20


def test_a_link_restores_the_whole_state(explorer: Opener, runs: list[Any]) -> None:
    page = explorer(compare=True, node=at(TARGET), lens="attention")
    node = neighbours(runs[0], TARGET)[1]
    page.after_load(lambda: page.page.check("#hops-3", force=True))
    page.after_load(lambda: page.page.select_option("#replica", value="2"))
    page.page.locator("#layer").fill("1")
    page.dot(node).press("Delete")
    page.until(page.page.locator("#removed").is_visible)
    page.page.locator("#classes > summary").click()
    page.until(lambda: page.page.locator("#heat button").count() == 9)
    page.page.locator("#heat button").nth(5).click()
    page.until(lambda: page.page.locator("#cell h3").count() == 1)
    other = explorer(compare=True)
    other.page.goto("about:blank")
    other.page.goto(page.page.url)
    other.until(lambda: other.page.locator("#cell h3").count() == 1)
    words = (
        "#answer-title", "#spoken", "#layer-name", "#rest", "#removed", "#cell", "#near",
    )  # fmt: skip
    for selector in words:
        assert other.text(selector) == page.text(selector)
    assert other.page.locator("#hops-3").is_checked()
    assert other.page.locator("#replica").input_value() == "2"
    assert other.page.url == page.page.url


@pytest.mark.parametrize(
    "link",
    [
        "#hops=9&layer=-1&limit=x&without=a-b&cell=9-9-9-9&lens=x&colour=y",
        "#%%%",
        "#replica=999999",
        "#replica=3",
    ],
)
def test_a_link_that_says_nonsense_shows_the_first_page(explorer: Opener, link: str) -> None:
    page = explorer()
    page.page.goto("about:blank")
    page.page.goto(f"{page.address}/{link}")
    page.until(lambda: page.loads() > 0)
    assert page.page.locator("#map-canvas").is_visible()
    page.after_load(lambda: page.page.check("#view-node", force=True))
    assert page.page.locator("#hops-2").is_checked()
    assert page.page.locator("#replica").input_value() == ""
