"""What would be otherwise, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from explorer_page import Opener, at, neighbours

from agnn.explanation import Changes, Counterfactual, changed_run
from explore_runs import ALONE, CLASSES

TARGET = 100


def test_other_betas_change_attention_contributions_and_prediction(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(TARGET), hops=1, lens="attention")
    before = page.text("#near"), page.text(".sentence")
    page.page.locator("#betas > summary").click()
    page.after_load(lambda: page.page.locator("#beta-2").fill("9"))
    assert page.text("#near") != before[0]
    assert page.text(".sentence") != before[1]
    trained = [round(float(each), 6) for each in runs[0].model.betas.mean(0)]
    shown = [float(page.page.locator(f"#beta-{k}").input_value()) for k in range(3)]
    assert abs(shown[0] - trained[0]) < 0.06
    found = changed_run(runs[0], Changes(betas=tuple(shown))).probabilities[TARGET]
    assert f"predicts {CLASSES[found.argmax()]} ({100 * found.max():.1f} %)" in page.text("#spoken")
    assert "betas=" in page.page.url
    page.after_load(page.page.locator("#beta-reset").click)
    assert "betas=" not in page.page.url
    assert page.text(".sentence") == before[1]


def test_which_edge_changes_it(explorer: Opener, runs: list[Any]) -> None:
    for node in range(80, 180):
        found = Counterfactual.of(runs[0], node)
        if found is not None and len(found.nodes) == 1:
            break
    assert found is not None
    page = explorer(node=at(node), hops=1)
    page.page.locator("#change").click()
    words = "Without 1 edge another class is predicted; no smaller set does it."
    page.until(lambda: words in page.text("#changed"))
    assert page.page.locator("#removed").is_visible()
    assert f"it instead predicts {CLASSES[found.answer]}" in page.text("#spoken")
    low, high = sorted((node, found.nodes[0]))
    assert f"{node}-{found.nodes[0]}" in page.page.url or f"{low}-{high}" in page.page.url


def said(run: Any, changes: Changes, node: int = TARGET) -> str:
    """What the page says of the changed run."""
    found = changed_run(run, changes).probabilities[node]
    return f"predicts {CLASSES[found.argmax()]} ({100 * found.max():.1f} %)"


def test_edges_and_features_change_together_and_each_can_be_undone(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(TARGET), hops=1)
    before = page.text(".sentence"), page.text("#near")
    # Add an edge to a node found by search.
    field = page.page.locator("#add-search")
    field.fill(f"paper {ALONE}")
    found = page.page.locator("#add-found")
    page.until(lambda: found.get_attribute("data-query") == f"paper {ALONE}" and found.is_visible())
    page.after_load(lambda: field.press("Enter"))
    new = ((TARGET, ALONE),)
    assert said(runs[0], Changes(added=new)) in page.text("#spoken")
    assert "With 1 change it" in page.text("#spoken")
    assert page.dot(ALONE).count() == 1, "it is in the picture now"
    assert page.text(".sentence") != before[0]
    assert page.text("#near") != before[1]
    # Drop the feature that matters most.
    page.page.locator("#own-features > summary").click()
    words = page.page.locator("#feature-list button")
    page.until(lambda: words.count() > 0)
    name = words.first.inner_text()
    page.after_load(words.first.click)
    drop = ((TARGET, int(name.removeprefix("feature "))),)
    assert said(runs[0], Changes(added=new, dropped=drop)) in page.text("#spoken")
    page.until(lambda: name not in words.all_inner_texts())
    # Remove an edge by its bar.
    bar = page.page.locator(".waterfall button.remove").first
    page.after_load(bar.click)
    gone = next(
        node for node in neighbours(runs[0], TARGET) if f"without={TARGET}-{node}" in page.page.url
        or f"without={node}-{TARGET}" in page.page.url
    )  # fmt: skip
    everything = Changes(added=new, dropped=drop, removed=((TARGET, gone),))
    assert said(runs[0], everything) in page.text("#spoken")
    assert page.page.locator("line[stroke-dasharray='5 5']").count() == 1
    assert page.page.locator("line[stroke-dasharray='12 4']").count() == 1
    link = page.page.url
    assert f"with={TARGET}-{ALONE}" in link
    assert f"drop={drop[0][0]}-{drop[0][1]}" in link
    # Each can be undone; the rest stays.
    page.after_load(page.page.get_by_role("button", name="Take out the edge").click)
    assert said(runs[0], Changes(dropped=drop, removed=everything.removed)) in page.text("#spoken")
    page.after_load(page.page.get_by_role("button", name=f"Put back {name}").click)
    assert said(runs[0], Changes(removed=everything.removed)) in page.text("#spoken")
    assert "Without 1 edge it" in page.text("#spoken")
    # The link has it all.
    other = explorer()
    other.page.goto(link)
    other.page.reload()
    other.until(lambda: said(runs[0], everything) in other.text("#spoken"))
    assert other.page.locator("#removed-list li").count() == 3
    other.after_load(other.page.locator("#as-trained").click)
    assert other.text(".sentence") == before[0]
    assert "with" not in other.page.url
    assert not other.page.locator("#removed").is_visible()


def test_changes_stay_on_a_walk_and_back_undoes_them(explorer: Opener, runs: list[Any]) -> None:
    node = neighbours(runs[0], TARGET)[0]
    page = explorer(node=at(TARGET), hops=1)
    row = page.page.locator(f"[data-row='{node}']")
    page.after_load(row.get_by_role("button", name="Remove").click)
    page.after_load(lambda: page.search(at(node)).first.dispatch_event("pointerdown"))
    assert page.title() == at(node)
    changes = Changes(removed=((TARGET, node),))
    assert said(runs[0], changes, node) in page.text("#spoken")
    page.after_load(page.page.go_back)
    page.after_load(page.page.go_back)
    assert "Without" not in page.text("#spoken")


def test_a_keyboard_adds_and_undoes_an_edge_on_a_phone(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1, context={"viewport": {"width": 390, "height": 800}})
    page.page.locator("#add-search").focus()
    page.page.keyboard.type(f"paper {ALONE}")
    found = page.page.locator("#add-found")
    page.until(lambda: found.get_attribute("data-query") == f"paper {ALONE}" and found.is_visible())
    page.page.keyboard.press("ArrowDown")
    page.after_load(lambda: page.page.keyboard.press("Enter"))
    back = page.page.get_by_role("button", name="Take out the edge")
    back.focus()
    page.after_load(lambda: page.page.keyboard.press("Enter"))
    assert not page.page.locator("#removed").is_visible()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("link", ["with=100-100", "drop=100-99", "without=0-100", "betas=2000,1,1"])
def test_changes_in_a_link_that_cannot_be_made_are_said_and_left_out(
    explorer: Opener, link: str
) -> None:
    name, value = link.split("=")
    page = explorer(node=at(TARGET), hops=1, **{name: value})
    page.until(lambda: page.title() == at(TARGET))
    page.until(page.page.locator("#message").is_visible)
    assert not page.page.locator("#removed").is_visible()
