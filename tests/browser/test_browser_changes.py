"""Edges taken away, runs compared and classes asked, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
from explorer_page import Opener, at, neighbours

from explore_runs import CLASSES

TARGET = 100


def test_removing_an_edge_changes_the_answer_and_it_can_be_put_back(
    explorer: Opener, runs: list[Any]
) -> None:
    from agnn.explanation import without_edges

    page = explorer(node=at(TARGET), hops=1)
    node = neighbours(runs[0], TARGET)[0]
    row = page.page.locator(f"[data-row='{node}']")
    row.get_by_role("button", name="Remove").click()
    page.until(page.page.locator("#removed").is_visible)
    after = without_edges(runs[0], TARGET, [(TARGET, node)])
    assert f"predicts {CLASSES[after.argmax()]} ({100 * after.max():.1f} %)" in page.text("#spoken")
    assert "Without 1 edge it" in page.text("#spoken")
    assert page.page.locator("line[stroke-dasharray]").count() == 1
    assert f"{node}-{TARGET}" in page.page.url
    page.page.get_by_role("button", name="Put back the edge").first.click()
    page.until(lambda: not page.page.locator("#removed").is_visible())
    assert "Without" not in page.text("#spoken")
    assert page.page.locator("line[stroke-dasharray]").count() == 0


def test_clicking_an_edge_shows_it_and_offers_to_remove_it(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), hops=1)
    page.page.locator(".hit").first.dispatch_event("click")
    assert page.page.locator("#edge-card").is_visible()
    assert at(TARGET) in page.text("#edge-title")
    page.page.locator("#edge-cut").click()
    page.until(page.page.locator("#removed").is_visible)
    assert page.text("#edge-cut") == "Put the edge back"


def test_a_second_run_stands_beside_and_differences_can_be_walked(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(compare=True, cohort="differ")
    one, two = (run.probabilities.argmax(1) for run in runs)
    differ = np.flatnonzero(one != two)
    page.until(lambda: page.text("#which") != "")
    assert f"Different predictions ({len(differ)})" in page.text("#who")
    page.after_load(page.page.locator("#next").click)
    assert page.page.locator("#pictures figure").count() == 2
    assert page.text("#which") == f"1 of {len(differ)}"
    seen = [runs[0].node(page.title())]
    page.after_load(page.page.locator("#next").click)
    assert page.text("#which") == f"2 of {len(differ)}"
    seen.append(runs[0].node(page.title()))
    assert set(seen) <= set(differ.tolist())
    assert len(set(seen)) == 2
    words = page.text("#spoken")
    assert f"AGNN predicts {CLASSES[one[seen[1]]]}" in words
    assert f"GCN predicts {CLASSES[two[seen[1]]]}" in words
    page.after_load(page.page.locator("#previous").click)
    assert runs[0].node(page.title()) == seen[0]
    page.page.select_option("#who", "only-0")
    page.until(lambda: "cohort=only-0" in page.page.url)
    page.after_load(page.page.locator("#next").click)
    node = runs[0].node(page.title())
    assert one[node] == runs[0].data.labels[node] != two[node]


def test_layers_that_only_one_run_has_leave_the_other_at_its_last(explorer: Opener) -> None:
    page = explorer(compare=True, node=at(TARGET), layer=2, lens="attention")
    before = page.radius(TARGET, side=1), page.radius(TARGET, side=0)
    page.page.locator("#layer").fill("3")
    assert page.text("#layer-name") == "layer 3"
    assert page.radius(TARGET, side=1) == before[0]
    assert page.radius(TARGET, side=0) != before[1]


def test_a_cell_of_the_heat_map_lists_its_edges_and_they_lead_there(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(TARGET))
    page.page.locator("#classes > summary").click()
    cells = page.page.locator("#heat button")
    page.until(lambda: cells.count() == 9)
    cells.nth(1).click()  # to red from green
    page.until(lambda: page.page.locator("#cell h3").count() == 1)
    assert page.text("#cell h3") == "green → red"
    first = page.page.locator("#cell tbody tr").first.get_by_role("button")
    sender, receiver = (each.inner_text() for each in first.all())
    labels = runs[0].data.labels
    assert [labels[runs[0].node(name)] for name in (sender, receiver)] == [1, 0]
    assert runs[0].node(receiver) in neighbours(runs[0], runs[0].node(sender))
    page.after_load(first.first.click)
    assert page.title() == sender
    assert "cell=0-3-0-1" in page.page.url
