"""Every page under axe, which knows the rules of accessibility."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from explorer_page import Opener, at

from explore_runs import HUB

TARGET = 100


@pytest.fixture(scope="module")
def axe() -> str:
    package = pytest.importorskip("axe_playwright_python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """What axe finds, each with its first element."""
    page.evaluate(f"{axe}; 0")
    found = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("lens", "node"),
    [*((lens, TARGET) for lens in ("contribution", "attention", "removal")), ("contribution", HUB)],
)
def test_axe_finds_nothing_in_the_explorer(
    explorer: Opener, axe: str, lens: str, node: int, scheme: str
) -> None:
    context = {"color_scheme": scheme}
    page = explorer(node=at(node), lens=lens, compare=lens == "attention", context=context)
    page.page.locator("#classes > summary").click()
    page.until(lambda: page.page.locator("#heat button").count() == 9)
    assert violations(page.page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_if(explorer: Opener, axe: str, scheme: str) -> None:
    changes = {"with": "0-100", "betas": "1,2,3"}
    page = explorer(node=at(TARGET), hops=1, context={"color_scheme": scheme}, **changes)
    page.page.locator("#own-features > summary").click()
    page.until(lambda: page.page.locator("#feature-list button").count() > 0)
    page.page.locator("#add-search").fill("paper 7")
    page.until(page.page.locator("#add-found").is_visible)
    assert violations(page.page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_map(explorer: Opener, axe: str, scheme: str) -> None:
    page = explorer(context={"color_scheme": scheme}, cohort="wrong", colour="confidence")
    assert violations(page.page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["report", "explanation"])
def test_axe_finds_nothing_on_a_written_page(
    browser: Any, runs: list[Any], axe: str, kind: str, scheme: str, tmp_path: Path
) -> None:
    from agnn.explanation import explain
    from agnn.report import (
        explanation_page,
        render_figures,
        run_facts,
        run_figures,
        run_page,
        surroundings_of,
    )

    run = runs[0]
    if kind == "report":
        facts = run_facts(run)
        html = run_page(facts, render_figures(run_figures(facts)), folder="runs/it")
    else:
        html = explanation_page(explain(run, TARGET), surroundings_of(run, TARGET))
    file = tmp_path / "page.html"
    file.write_text(html, encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    assert violations(page, axe) == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_page_of_a_served_model(
    browser: Any, runs: list[Any], started: Callable[..., str], axe: str, scheme: str
) -> None:
    from agnn.web.api import ServedModel, served_application

    model = ServedModel(runs[0])
    model.warm()
    page = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
    page.goto(started(served_application(model)))
    assert "AGNN" in page.locator("body").inner_text()
    assert violations(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
