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
    assert page.page.evaluate("window.broken") is None
    assert page.page.locator("main img, main script").count() == 0


def test_search_finds_a_title(page: ExplorerPage) -> None:
    page.open(node=f"paper {TARGET}")
    options = page.search("part 17")
    assert options.first.get_attribute("data-id") == "paper 17"
    assert options.first.locator("b").inner_text() == f"{HOSTILE}, part 17"
