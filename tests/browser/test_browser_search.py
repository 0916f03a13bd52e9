"""Finding a node in the explorer, in a real browser."""

from __future__ import annotations

from typing import Any

from explorer_page import Opener, at

from explore_runs import CLASSES, HUB, SCRIPT, SCRIPT_ID

TARGET = 100


def test_the_neighbourhood_opens_at_a_test_node(explorer: Opener, runs: list[Any]) -> None:
    page = explorer()
    page.after_load(lambda: page.page.check("#view-node", force=True))
    node = runs[0].node(page.title())
    assert node in runs[0].split.test
    answer = int(runs[0].probabilities[node].argmax())
    assert f"AGNN predicts {CLASSES[answer]} (" in page.text("#spoken")
    assert page.dot(node).is_visible()


def test_search_lists_ids_and_enter_goes_to_the_best(explorer: Opener) -> None:
    page = explorer()
    options = page.search("paper 19")
    assert options.count() == 11
    assert options.first.get_attribute("data-id") == "paper 19"
    page.after_load(lambda: page.page.press("#search", "Enter"))
    assert page.title() == "paper 19"
    assert not page.page.locator("#found").is_visible()


def test_search_by_class_lists_its_nodes(explorer: Opener, runs: list[Any]) -> None:
    page = explorer()
    options = page.search("green")
    assert options.count() == 20
    chosen = options.nth(3).get_attribute("data-id")
    assert runs[0].data.labels[runs[0].node(chosen)] == 1
    page.after_load(options.nth(3).click)
    assert page.title() == chosen


def test_a_wrong_id_gives_a_sentence_and_leaves_the_page_as_it_is(explorer: Opener) -> None:
    page = explorer(node=at(TARGET))
    page.page.fill("#search", "paper 999")
    page.page.press("#search", "Enter")
    page.until(page.page.locator("#message").is_visible)
    assert "'papers' has no node 'paper 999'; near it: " in page.text("#message")
    assert page.title() == at(TARGET)
    assert "paper+999" not in page.page.url


def test_a_link_to_a_wrong_id_gives_a_sentence_over_the_map(explorer: Opener) -> None:
    page = explorer(node="nobody")
    page.until(page.page.locator("#map-view").is_visible)
    assert "has no node 'nobody'" in page.text("#message")
    page.after_load(page.page.locator("#view-node").check)
    assert not page.page.locator("#message").is_visible()


def test_a_name_that_looks_like_a_script_stays_text(explorer: Opener) -> None:
    page = explorer(node=at(HUB), limit=200, single="true")
    page.page.locator("#near-more").click()
    assert page.page.locator(f"[data-row='{SCRIPT}'] .walk").inner_text() == SCRIPT_ID
    page.dot(SCRIPT).hover()
    assert page.page.locator("#tip b").inner_text() == SCRIPT_ID
    page.after_load(lambda: page.dot(SCRIPT).press("Enter"))
    assert page.title() == SCRIPT_ID
    assert page.page.title() == f"{SCRIPT_ID} · agnn explore"
    assert page.search("<scr").count() == 1
    assert page.page.locator("#found b").inner_text() == SCRIPT_ID
    assert "<b>blue</b>" in page.text("#answers")
    assert page.page.evaluate("window.broken") is None
    assert page.page.locator("#found script, main script, #answers b, .bars b").count() == 0
