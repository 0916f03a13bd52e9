"""Titles, addresses and descriptions of nodes, hostile ones too, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from explorer_page import ExplorerPage, neighbours

from explore_runs import NODES

TARGET = 100
HOSTILE = (
    '<img src=x onerror="window.broken = 1"> on a title that is far too long to be shown whole'
)


@pytest.fixture(scope="module")
def named(runs: list[Any], served: Callable[[Any], str]) -> str:
    """The address of an explorer whose nodes have titles."""
    from agnn.web.explore import Explorer

    titles = tuple(f"{HOSTILE}, part {k}" for k in range(NODES))
    texts = {
        "title": titles,
        "url": tuple(f"https://example.org/{k}" for k in range(NODES)),
        "description": ("<script>window.broken = 1</script> what it is",) * NODES,
    }
    return served(Explorer([replace(runs[0], data=replace(runs[0].data, texts=texts))]))


@pytest.fixture
def page(browser: Any, named: str) -> Iterator[ExplorerPage]:
    made = ExplorerPage(browser, named)
    yield made
    assert made.complaints == []
    made.close()


def test_titles_are_everywhere_and_stay_text(page: ExplorerPage, runs: list[Any]) -> None:
    page.open(node=f"paper {TARGET}", hops=1)
    assert page.title() == f"{HOSTILE}, part {TARGET} paper {TARGET}"
    assert "what it is" in page.text("#about-node")
    link = page.page.locator("#about-node a")
    assert link.get_attribute("href") == f"https://example.org/{TARGET}"
    assert "noopener" in link.get_attribute("rel")
    node = neighbours(runs[0], TARGET)[0]
    row = page.page.locator(f"[data-row='{node}'] .walk")
    assert row.inner_text() == f"{HOSTILE}, part {node}"
    assert row.get_attribute("title") == f"{HOSTILE}, part {node}"
    assert f"{HOSTILE}, part {node}" in page.dot(node).get_attribute("aria-label")
    # Cut in the middle, so that titles which begin alike stay apart.
    labels = [each.text_content() for each in page.page.locator(".canvas .name").all()]
    assert len(set(labels)) == len(labels) > 1
    assert all("…" in each for each in labels)
    # So are those in tables: their ends are there and are not cut off.
    tails = page.page.locator("#near .tail, .waterfall .tail")
    assert tails.count() > 4
    for tail in tails.all():
        own, box = tail.bounding_box(), tail.locator("xpath=ancestor::th").bounding_box()
        assert own["x"] + own["width"] <= box["x"] + box["width"] + 1
    assert page.page.evaluate("window.broken") is None
    assert page.page.locator("main img, main script").count() == 0


def test_search_finds_a_title(page: ExplorerPage) -> None:
    page.open(node=f"paper {TARGET}")
    options = page.search("part 17")
    assert options.first.get_attribute("data-id") == "paper 17"
    assert options.first.locator("b").inner_text() == f"{HOSTILE}, part 17"


def test_a_very_long_title_is_cut_in_its_middle_and_whole_for_a_screen_reader(
    browser: Any, runs: list[Any], served: Callable[[Any], str]
) -> None:
    from agnn.web.explore import Explorer

    titles = tuple(f"{'On the convergence of ' * 23}method {k}" for k in range(NODES))
    data = replace(runs[0].data, texts={"title": titles})
    page = ExplorerPage(browser, served(Explorer([replace(runs[0], data=data)])))
    page.open(node=f"paper {TARGET}", hops=1)
    heading = page.page.locator("#answer-title")
    assert heading.bounding_box()["height"] < 150
    assert heading.locator("[aria-hidden]").inner_text().endswith(f"method {TARGET}")
    assert heading.locator(".hidden").text_content() == titles[TARGET]
    node = neighbours(runs[0], TARGET)[0]
    page.after_load(page.page.locator(f"[data-row='{node}'] .walk").click)
    path = page.page.locator("#path")
    assert path.bounding_box()["height"] < 60
    assert path.locator(".tail").first.inner_text() == titles[TARGET][-6:]
    assert page.complaints == []
    page.close()
