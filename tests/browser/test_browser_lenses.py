"""The three lenses and the waterfall, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from explorer_page import ExplorerPage, Opener, at, neighbours

from agnn.explanation import Margin, Removal, without_edges
from explore_runs import CLASSES, HUB

TARGET, MINUS = 100, "\N{MINUS SIGN}"


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-0.00", "+0.00").replace("-", MINUS)


def column(page: ExplorerPage, number: int) -> dict[int, str]:
    """The text of a column of the table by node."""
    rows = page.page.locator("#near tbody tr").all()
    return {
        int(row.get_attribute("data-row")): row.locator("td").nth(number).inner_text()
        for row in rows
    }


def test_contribution_is_the_first_lens_and_its_sign_has_colour_and_number(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(TARGET), hops=1)
    assert page.page.locator("#lens-contribution").is_checked()
    found = Margin.of(runs[0], TARGET)
    by_node = dict(zip(found.nodes.tolist(), found.added, strict=True))
    colours = {}
    for node, text in column(page, 0).items():
        assert text == signed(by_node[node])
        if abs(by_node[node]) > 0.01 and runs[0].data.labels[node] >= 0:
            fill = page.dot(node).locator("path").first.get_attribute("fill")
            colours.setdefault(by_node[node] > 0, set()).add(fill)
    assert all(len(each) == 1 for each in colours.values())
    assert f"speaks for {CLASSES[found.answer]}" in page.text("#legend")


def test_the_lens_is_in_the_link_the_table_the_legend_and_the_picture(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1)
    before = page.radius(TARGET)
    page.page.locator("#lens-attention").check(force=True)
    page.until(lambda: "lens=attention" in page.page.url)
    assert page.page.locator("#layers").is_visible()
    assert "%" in column(page, 0)[TARGET]
    assert "speaks for" not in page.text("#legend")
    assert page.radius(TARGET) != before
    again = explorer(node=at(TARGET), hops=1, lens="attention")
    assert again.text("#near") == page.text("#near")


def test_the_third_lens_shows_what_each_removal_does(explorer: Opener, runs: list[Any]) -> None:
    page = explorer(node=at(TARGET), hops=1, lens="removal")
    near = neighbours(runs[0], TARGET)
    effects = Removal(runs[0], TARGET).effects([(TARGET, node) for node in near])
    shown = column(page, 0)
    for node, effect in zip(near, effects, strict=True):
        sign = MINUS if effect < -0.0005 else "+"
        assert shown[node] == f"{sign}{100 * abs(effect):.1f}"
    assert shown[TARGET] == "\N{EN DASH}"


def test_the_waterfall_adds_up_and_a_click_on_a_bar_removes_it(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(TARGET))
    found = Margin.of(runs[0], TARGET)
    rows = page.page.locator(".waterfall tbody tr").all()
    values = [row.locator(".number").inner_text().replace(MINUS, "-") for row in rows]
    assert [float(each) for each in values[:-1]] == pytest.approx(
        [step.value for step in found.steps], abs=0.006
    )
    assert float(values[-1]) == pytest.approx(found.total, abs=0.006)
    assert page.text(".sentence") == found.sentence("AGNN", CLASSES)
    node = next(step.node for step in found.steps if step.kind == "node" and step.hops == 1)
    page.page.locator(f"[data-step='{node}'] button.remove").click()
    page.until(page.page.locator("#removed").is_visible)
    after = without_edges(runs[0], TARGET, [(TARGET, node)])
    assert f"predicts {CLASSES[after.argmax()]} ({100 * after.max():.1f} %)" in page.text("#spoken")


def test_two_runs_have_a_waterfall_each(explorer: Opener) -> None:
    page = explorer(compare=True, node=at(TARGET))
    assert page.page.locator(".waterfall").count() == 2
    captions = [each.inner_text() for each in page.page.locator(".waterfall caption").all()]
    assert [each.split(":")[0] for each in captions] == ["AGNN", "GCN"]


@pytest.mark.parametrize("font", ["DejaVu Sans", "Liberation Sans"])
@pytest.mark.parametrize("compare", [False, True])
def test_the_cross_and_the_true_class_are_inside_their_boxes(
    explorer: Opener, font: str, compare: bool
) -> None:
    page = explorer(
        compare=compare, node=at(HUB), context={"viewport": {"width": 1280, "height": 800}}
    )
    page.page.evaluate("(font) => (document.documentElement.style.fontFamily = font)", font)
    outside = page.page.evaluate(
        """() => [...document.querySelectorAll('.cut, .true')].filter((each) => {
          const own = each.getBoundingClientRect();
          const box = each.closest('.card').getBoundingClientRect();
          return own.right > box.right - 4 || own.left < box.left;
        }).length"""
    )
    assert outside == 0
    assert page.page.locator(".cut").count() > 3
    scroll = page.page.locator("#near").evaluate(
        "(each) => each.parentElement.scrollWidth - each.parentElement.clientWidth"
    )
    assert scroll <= 1


def test_a_tap_tells_before_it_walks(explorer: Opener, runs: list[Any]) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = explorer(node=at(TARGET), hops=1, context=phone)
    node = neighbours(runs[0], TARGET)[0]
    page.dot(node).tap()
    page.until(page.page.locator("#tip").is_visible)
    assert "Tap again to walk there." in page.text("#tip")
    assert page.title() == at(TARGET)
    page.after_load(page.dot(node).tap)
    assert page.title() == at(node)


def test_targets_of_a_finger_are_24_pixels(explorer: Opener) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = explorer(node=at(TARGET), hops=1, context=phone)
    small = page.page.evaluate(
        """() => [...document.querySelectorAll('button, select, summary, .switch label, .dot')]
        .filter((each) => {
          const { width, height } = each.getBoundingClientRect();
          return each.checkVisibility() && (width < 23.5 || height < 23.5);
        }).map((each) => each.outerHTML.slice(0, 90))"""
    )
    assert small == []


def test_the_rest_says_what_lies_beyond_the_hops(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1, limit=600)
    words = page.text("#rest")
    assert "goes farther than 1 hop" in words
    assert page.page.locator("#more").count() == 0
    page.after_load(lambda: page.page.check("#hops-3", force=True))  # as many as layers
    if page.page.locator("#more").count():
        page.after_load(page.page.locator("#more").click)
    assert "farther" not in page.text("#rest")


def test_all_layers_of_the_class_map_have_one_scale(explorer: Opener) -> None:
    page = explorer(node=at(TARGET))
    page.page.locator("#classes > summary").click()
    cells = page.page.locator("#heat button")
    page.until(lambda: cells.count() == 9)
    layers = page.page.evaluate("fetch('/api/relevance').then((r) => r.json())")["layers"]
    largest = np.nanmax(np.abs(np.array(layers, dtype=float)))
    read = "document.querySelector('#heat button').style.getPropertyValue('--strength')"
    for layer in (1, 3):
        page.page.select_option("#heat-layer", str(layer))
        wanted = 55 * abs(layers[layer - 1][0][0]) / largest
        page.until(
            lambda wanted=wanted: abs(int(page.page.evaluate(read).rstrip("%")) - wanted) <= 1
        )
