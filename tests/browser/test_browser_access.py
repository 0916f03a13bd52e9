"""Keyboard, screen reader, widths, light and dark, in a real browser."""

from __future__ import annotations

import pytest
from explorer_page import Opener, at

from explore_runs import SCRIPT

TARGET = 100


def test_a_question_mark_opens_the_keys_and_escape_closes_them(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1)
    keys = page.page.locator("#keys")
    assert not keys.is_visible()
    page.page.keyboard.press("?")
    assert keys.is_visible()
    assert "lens: contribution, attention, removal" in page.text("#keys")
    page.page.keyboard.press("Escape")
    assert not keys.is_visible()
    page.page.locator("#keys-open").click()
    assert keys.is_visible()


def test_the_legend_stands_above_the_fold_at_900_pixels(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1)
    page.page.set_viewport_size({"width": 1280, "height": 900})
    bottom = "document.getElementById('legend').getBoundingClientRect().bottom"
    assert page.page.evaluate(bottom) < 900
    assert "what it adds to the lead" in page.text("#near-note")


def test_everything_goes_by_keyboard(explorer: Opener) -> None:
    page = explorer(compare=True, node=at(TARGET), hops=1, cohort="differ")
    press = page.page.keyboard.press
    press("/")
    assert page.page.evaluate("document.activeElement.id") == "search"
    page.page.keyboard.type("paper 5")
    assert page.search("paper 5").count() == 11
    press("ArrowDown")
    press("ArrowDown")
    page.after_load(lambda: press("Enter"))
    assert page.title() == "paper 50"
    page.page.locator("#search").blur()
    page.after_load(lambda: press("1"))
    assert "hops=1" in page.page.url
    press("a")
    page.until(lambda: "lens=attention" in page.page.url)
    press("]")
    assert page.text("#layer-name") == "layer 1"
    press("[")
    assert page.text("#layer-name") == "all layers"
    page.page.locator("[data-side='0'] [data-dot='0']").focus()
    for arrow in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        press(arrow)
        if page.page.evaluate("document.activeElement.dataset.dot") != "0":
            break
    walked = int(page.page.evaluate("document.activeElement.dataset.node"))
    label = page.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith(at(walked))
    assert "of the attention" in label
    press("Delete")
    page.until(page.page.locator("#removed").is_visible)
    assert int(page.page.evaluate("document.activeElement.dataset.node")) == walked
    page.after_load(lambda: press("Enter"))
    assert page.title() == at(walked)
    page.after_load(lambda: press("n"))
    assert page.text("#which").startswith(("1 of", "2 of"))


def test_tab_leads_through_every_control_in_order(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1)
    seen = []
    for _ in range(16):
        page.page.keyboard.press("Tab")
        seen.append(
            page.page.evaluate(
                "document.activeElement.id || document.activeElement.getAttribute('data-dot') "
                "|| document.activeElement.className"
            )
        )
    expected = [
        "skip", "search", "keys-open", "view-node", "who", "lens-contribution", "hops-1", "replica",
        "0", "nearer", "farther", "fit", "save-svg", "save-png", "copy",
    ]  # fmt: skip
    assert seen[: len(expected)] == expected


def test_every_control_has_a_name_for_a_screen_reader(explorer: Opener) -> None:
    page = explorer(compare=True, node=at(TARGET))
    unnamed = page.page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, [role=button]')]
        .filter((each) => !(each.getAttribute('aria-label') || each.textContent.trim()
          || each.labels?.[0]?.textContent.trim())).map((each) => each.outerHTML)"""
    )
    assert unnamed == []
    assert page.page.locator("#spoken").get_attribute("aria-live") == "polite"
    assert page.page.locator("#near thead th[scope=col]").count() == 4


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_width_scrolls_sideways(explorer: Opener, width: int) -> None:
    size = {"viewport": {"width": width, "height": 800}}
    page = explorer(compare=True, context=size, node=at(SCRIPT), hops=2, cell="0-1-0-0")
    page.until(lambda: page.page.locator("#cell h3").count() == 1)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def luminance(colour: str) -> float:
    values = [int(part) / 255 for part in colour.strip("rgba()").split(",")[:3]]
    return 0.2126 * values[0] + 0.7152 * values[1] + 0.0722 * values[2]


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_the_page_follows_light_and_dark(explorer: Opener, scheme: str, is_dark: bool) -> None:
    page = explorer(context={"color_scheme": scheme}, node=at(TARGET))
    read = "getComputedStyle(document.body)"
    ground = luminance(page.page.evaluate(f"{read}.backgroundColor"))
    ink = luminance(page.page.evaluate(f"{read}.color"))
    assert (ground < ink) == is_dark
    assert abs(ground - ink) > 0.6
    outline = page.dot(TARGET).locator("path").first.get_attribute("stroke")
    assert outline == ("#ffffff" if is_dark else "#000000")


@pytest.mark.parametrize("compare", [False, True])
def test_a_print_holds_the_pictures_whole(explorer: Opener, compare: bool) -> None:
    page = explorer(node=at(TARGET), compare=compare)
    page.page.emulate_media(media="print")
    page.page.set_viewport_size({"width": 720, "height": 1000})  # A4 between its margins
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 720
    boxes = [each.bounding_box() for each in page.page.locator(".canvas, .canvas .dot").all()]
    assert len(boxes) > 5
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 720 for box in boxes)
