"""The queue of label mode in a real browser: suspicious labels, what to label next, and sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from explorer_page import ExplorerPage
from test_browser_axe import axe, violations

from agnn.decisions import audit, suggest
from agnn.runs import Run, read_labels
from agnn.web.explore import Labelling
from explore_runs import CLASSES, label_mode, write_run

__all__ = ["axe"]  # a fixture


@pytest.fixture(scope="module")
def labelling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labelling]:
    folder = write_run(tmp_path_factory.mktemp("queue") / "run", "gcn", "3-fold-cross-fit")
    with label_mode(folder) as made:
        yield made


@pytest.fixture(scope="module")
def run(labelling: Labelling) -> Run:
    return labelling.run


@pytest.fixture(scope="module")
def address(labelling: Labelling, served: Callable[..., str]) -> str:
    return served(labelling.explorer, labelling)


@pytest.fixture
def opened(
    browser: Any, address: str, labelling: Labelling
) -> Iterator[Callable[..., ExplorerPage]]:
    """Opens pages in label mode; after the test no label is left and no page has complained."""
    pages: list[ExplorerPage] = []

    def open_page(context: dict[str, Any] | None = None, **state: Any) -> ExplorerPage:
        page = ExplorerPage(browser, address, **(context or {}))
        pages.append(page)
        page.page.goto(f"{page.home}#token={labelling.token}")
        page.until(lambda: "kept in run.labels.jsonl" in page.text("#label-count"))
        return page.open(**state) if state else page

    yield open_page
    for page in pages:
        assert page.complaints == []
        page.close()
    while labelling.file.entries:
        labelling.undo()


def kept(labelling: Labelling) -> dict[int, int]:
    return read_labels(labelling.file.path, labelling.run.data)


def at_node(page: ExplorerPage, node_id: Any) -> None:
    """Wait until this node is shown, with what can be done with it."""
    page.until(lambda: page.title() == str(node_id))
    page.until(page.page.locator("#queue-take").is_visible)


def to_suspicious(page: ExplorerPage) -> None:
    """Choose the suspicious labels and go to the first."""
    page.page.select_option("#who", "suspicious")
    page.until(lambda: page.text("#queue-done").startswith("0 of "))
    page.page.keyboard.press("n")


def test_suspicious_labels_are_kept_or_corrected_one_after_the_other(
    opened: Callable[..., ExplorerPage], labelling: Labelling, run: Run
) -> None:
    first, second, third, *_ = audit(run).suspicious
    page = opened()
    to_suspicious(page)
    at_node(page, first.id)
    assert first.reason in page.text("#reason")
    assert page.text("#queue-kept-class") == first.label
    page.page.locator("#queue-keep").click()
    at_node(page, second.id)
    page.until(lambda: page.text("#queue-done").startswith("1 of "))
    assert page.text("#queue-taken-class") == second.prediction
    page.page.keyboard.press("t")
    at_node(page, third.id)
    page.until(lambda: page.text("#queue-done").startswith("2 of "))
    names = {CLASSES.index(first.label), CLASSES.index(second.prediction)}
    assert set(kept(labelling)) == {first.node, second.node}
    assert kept(labelling)[first.node] == CLASSES.index(first.label)
    assert set(kept(labelling).values()) == names


def test_the_next_batch_is_worked_through_and_the_end_is_said(
    opened: Callable[..., ExplorerPage], labelling: Labelling, run: Run
) -> None:
    batch = suggest(run, 20).nodes
    page = opened()
    page.page.locator("#queue-next").click()
    for number, node in enumerate(batch):
        at_node(page, node.id)
        page.until(lambda number=number: page.text("#queue-done").startswith(f"{number} of "))
        assert f"Suggested: {node.reason}." in page.text("#reason")
        assert page.text("#queue-next") == "Next batch"
        page.page.keyboard.press("t")
    page.until(lambda: f"All {len(batch)} are done: retrain" in page.text("#label-kept"))
    expected = {node.node: CLASSES.index(str(node.prediction)) for node in batch}
    assert kept(labelling) == expected


def test_the_set_of_a_node_follows_the_coverage(
    opened: Callable[..., ExplorerPage], run: Run
) -> None:
    node = "paper 100"
    page = opened(node=node)
    for coverage in (0.9, 0.95, 0.8):
        page.page.select_option("#coverage", str(coverage))
        sets = run.predict_set(coverage, [node])
        page.until(lambda rule=sets.rule: page.text("#set-said") == rule.guarantee)
        names = ", ".join(sets.sets[0]) or "none of the classes fits"
        assert page.text("#set-classes") == f"Prediction set: {names}."


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_queue(
    opened: Callable[..., ExplorerPage], run: Run, axe: str, scheme: str
) -> None:
    page = opened(context={"color_scheme": scheme})
    to_suspicious(page)
    at_node(page, audit(run).suspicious[0].id)
    assert violations(page.page, axe) == []
