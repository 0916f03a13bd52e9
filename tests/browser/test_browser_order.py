"""Answers that come late or in another order than they were asked for, in a real browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from explorer_page import ExplorerPage, Opener, at, neighbours

from agnn.explanation import Counterfactual

TARGET = 100


def held(page: ExplorerPage, name: str) -> list[Any]:
    """Hold back the next question of a kind until the test lets it go."""
    waiting: list[Any] = []

    def first(route: Any) -> None:
        if waiting:
            route.fallback()
        else:
            waiting.append(route)

    page.page.route(f"**/api/{name}?*", first)
    return waiting


def released(page: ExplorerPage, waiting: list[Any], name: str) -> None:
    """Let it go, and wait until the page has read the answer."""
    with page.page.expect_response(f"**/api/{name}?*"):
        waiting[0].continue_()
    page.page.wait_for_timeout(100)  # nothing is to happen


def walk(page: ExplorerPage, node: int) -> None:
    page.page.locator(f"[data-row='{node}'] .walk").click()


def shown_in_link(page: ExplorerPage) -> str:
    return parse_qs(urlsplit(page.page.url).fragment)["node"][0]


def test_a_second_walk_before_the_first_is_answered_is_the_one_that_counts(
    explorer: Opener, runs: list[Any]
) -> None:
    one, two = neighbours(runs[0], TARGET)[:2]
    page = explorer(node=at(TARGET), hops=1, lens="attention")
    waiting = held(page, "around")
    walk(page, one)
    page.until(lambda: len(waiting) == 1)
    page.after_load(lambda: walk(page, two))
    assert page.title() == at(two)
    page.until(lambda: shown_in_link(page) == at(two))
    assert f"{at(two)} · papers" in str(page.page.locator(".canvas").get_attribute("aria-label"))


def test_a_walk_that_is_refused_after_another_leaves_the_state_of_what_is_shown(
    explorer: Opener, runs: list[Any]
) -> None:
    one = neighbours(runs[0], TARGET)[0]
    page = explorer(node=at(TARGET), hops=1)
    waiting = held(page, "around")
    walk(page, one)
    page.until(lambda: len(waiting) == 1)
    page.page.fill("#search", "nothing is called so")
    page.page.locator("#search").press("Enter")
    page.until(page.page.locator("#message").is_visible)
    page.page.locator("#search").blur()
    page.after_load(lambda: page.page.keyboard.press("2"))
    assert page.title() == at(TARGET)
    page.until(lambda: shown_in_link(page) == at(TARGET))


def test_the_effects_of_removals_at_another_node_are_not_drawn(
    explorer: Opener, runs: list[Any]
) -> None:
    other = neighbours(runs[0], TARGET)[0]
    fresh = explorer(node=at(other), hops=1, lens="removal")
    page = explorer(node=at(TARGET), hops=1)
    waiting = held(page, "removals")
    page.page.check("#lens-removal", force=True)
    page.until(lambda: len(waiting) == 1)
    page.after_load(lambda: walk(page, other))
    assert page.text("#near") == fresh.text("#near")
    released(page, waiting, "removals")
    assert page.text("#near") == fresh.text("#near")
    assert page.page.locator("#stage").get_attribute("aria-busy") is None


def test_an_edge_that_changes_another_node_is_not_removed_here(
    explorer: Opener, runs: list[Any]
) -> None:
    node = next(k for k in range(80, 180) if Counterfactual.of(runs[0], k) is not None)
    page = explorer(node=at(node), hops=1)
    waiting = held(page, "change")
    page.page.locator("#change").click()
    page.until(lambda: len(waiting) == 1)
    page.after_load(lambda: walk(page, neighbours(runs[0], node)[0]))
    released(page, waiting, "change")
    assert not page.page.locator("#removed").is_visible()
    assert page.text("#changed") == ""
    assert page.page.locator("#change").is_enabled()


def test_the_features_of_another_node_are_not_listed(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1)
    waiting = held(page, "features")
    page.page.locator("#own-features > summary").click()
    page.until(lambda: len(waiting) == 1)
    page.page.select_option("#feature-of", index=1)
    words = page.page.locator("#feature-list")
    page.until(lambda: page.page.locator("#feature-list button").count() > 0)
    listed = words.inner_text()
    waiting[0].continue_()  # the page has stopped waiting for it
    page.page.wait_for_timeout(300)  # nothing is to happen
    assert words.inner_text() == listed


def test_keys_of_the_neighbourhood_do_nothing_on_the_map(explorer: Opener) -> None:
    page = explorer()
    for key in ("c", "a", "r", "[", "]"):
        page.page.keyboard.press(key)
    page.page.wait_for_timeout(100)  # nothing is to happen
    assert page.page.locator("#map-canvas").is_visible()
    page.after_load(lambda: page.page.check("#view-node", force=True))
    page.after_load(lambda: page.page.check("#view-map", force=True))
    page.page.keyboard.press("a")
    page.page.keyboard.press("]")
    page.page.wait_for_timeout(100)
    assert not page.page.locator("#why").is_visible()
    assert page.page.title() == "papers · agnn explore"
