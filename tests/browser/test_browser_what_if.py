"""What would be otherwise, in a real browser."""

from __future__ import annotations

from typing import Any

from explorer_page import Opener, at

from agnn.explanation import counterfactual, run_with_betas
from explore_runs import CLASSES

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
    found = run_with_betas(runs[0], shown).probabilities[TARGET]
    assert f"predicts {CLASSES[found.argmax()]} ({100 * found.max():.1f} %)" in page.text("#spoken")
    assert "betas=" in page.page.url
    page.after_load(page.page.locator("#beta-reset").click)
    assert "betas=" not in page.page.url
    assert page.text(".sentence") == before[1]


def test_which_edge_changes_it(explorer: Opener, runs: list[Any]) -> None:
    for node in range(80, 180):
        found = counterfactual(runs[0], node)
        if found is not None and len(found.nodes) == 1:
            break
    assert found is not None
    page = explorer(node=at(node), hops=1)
    page.page.locator("#change").click()
    page.until(page.page.locator("#removed").is_visible)
    assert "Without 1 edge another class is predicted; no smaller set does it." in page.text(
        "#changed"
    )
    assert f"it instead predicts {CLASSES[found.answer]}" in page.text("#spoken")
    low, high = sorted((node, found.nodes[0]))
    assert f"{node}-{found.nodes[0]}" in page.page.url or f"{low}-{high}" in page.page.url
