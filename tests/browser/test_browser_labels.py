"""Label mode in a real browser: give, undo, retrain, cancel; by mouse, by key and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from explorer_page import PATIENCE, ExplorerPage, at
from test_browser_axe import axe, violations

from agnn.runs import load_run, read_labels
from agnn.web.explore import Labelling
from explore_runs import CLASSES, label_mode, write_run

__all__ = ["axe"]  # a fixture
TARGET = 100


@pytest.fixture(scope="module")
def labelling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labelling]:
    with label_mode(write_run(tmp_path_factory.mktemp("label") / "run", "gcn")) as made:
        yield made


@pytest.fixture(scope="module")
def address(labelling: Labelling, served: Callable[..., str]) -> str:
    return served(labelling.explorer, labelling)


@pytest.fixture
def opened(browser: Any, address: str, labelling: Labelling) -> Iterator[Callable[..., Any]]:
    """Opens pages in label mode; after the test no label is left and no page has complained."""
    pages: list[ExplorerPage] = []

    def open_page(context: dict[str, Any] | None = None, **state: Any) -> ExplorerPage:
        page = ExplorerPage(browser, address, **(context or {}))
        pages.append(page)
        page.open(token=labelling.token, **state)
        page.until(lambda: "kept in run.labels.jsonl" in page.text("#label-count"))
        return page

    yield open_page
    for page in pages:
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith(f"{address}/")] == []
        page.close()
    while labelling.file.entries:
        labelling.undo()


def kept(labelling: Labelling) -> dict[int, int]:
    return read_labels(labelling.file.path, labelling.run.data)


def test_a_node_is_given_a_class_and_it_is_undone(
    opened: Callable[..., ExplorerPage], labelling: Labelling
) -> None:
    page = opened(node=at(TARGET))
    assert page.text("#label-what") == "Give this node a class:"
    buttons = page.page.locator("#label-classes button")
    assert [each.strip() for each in buttons.all_inner_texts()] == list(CLASSES)
    buttons.nth(2).click()
    page.until(lambda: page.text("#label-kept") == f"Kept: {at(TARGET)} as {CLASSES[2]}.")
    assert kept(labelling) == {TARGET: 2}
    assert buttons.nth(2).get_attribute("aria-pressed") == "true"
    assert "1 label, kept in run.labels.jsonl" in page.text("#label-count")
    page.page.reload()
    page.until(lambda: "1 label," in page.text("#label-count"))
    page.page.locator("#label-undo").click()
    page.until(lambda: page.text("#label-kept").startswith("Undone:"))
    assert kept(labelling) == {}
    assert page.page.locator("#label-train").is_disabled()


def test_keys_give_a_class_and_walk_on(
    opened: Callable[..., ExplorerPage], labelling: Labelling
) -> None:
    page = opened(cohort="unsure", context={"viewport": {"width": 390, "height": 800}})
    keyboard = page.page.keyboard
    given = {}
    for digit in (1, 3):
        page.after_load(lambda: keyboard.press("n"))
        node = labelling.run.node(page.title())
        keyboard.press("l")
        keyboard.press(str(digit))
        page.until(lambda digit=digit: f"as {CLASSES[digit - 1]}." in page.text("#label-kept"))
        given[node] = digit - 1
        page.page.evaluate("document.activeElement.blur()")
    page.after_load(lambda: keyboard.press("n"))
    node = labelling.run.node(page.title())
    keyboard.press("l")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    page.until(lambda: f"Kept: {at(node)} as {CLASSES[1]}." in page.text("#label-kept"))
    assert kept(labelling) == given | {node: 1}
    page.page.evaluate("document.activeElement.blur()")
    keyboard.press("u")
    page.until(lambda: page.text("#label-kept").startswith("Undone:"))
    assert kept(labelling) == given
    assert "hops" not in page.page.url, "digits in the list of classes are not hops"
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_cohort_and_circled_nodes_are_given_a_class_at_once(
    opened: Callable[..., ExplorerPage], labelling: Labelling
) -> None:
    page = opened()
    assert page.page.locator("#label-classes button").first.is_disabled()
    page.page.select_option("#who", "wrong")
    count = labelling.explorer.cohorts.all["wrong"].nodes.size
    words = f"{'all ' if count > 12 else ''}{count} nodes of the cohort"
    page.until(lambda: words in page.text("#label-what"))
    page.page.locator("#label-classes button").nth(1).click()
    page.until(lambda: f"Kept: {count} nodes as {CLASSES[1]}." in page.text("#label-kept"))
    wrong = labelling.explorer.cohorts.all["wrong"].nodes.tolist()
    assert kept(labelling) == dict.fromkeys(wrong, 1)
    page.page.locator("#label-undo").click()
    page.until(lambda: page.text("#label-kept").startswith("Undone:"))
    assert kept(labelling) == {}
    box = page.page.locator("#map-canvas").bounding_box()
    mouse = page.page.mouse
    page.page.keyboard.down("Shift")
    corners = [(0.003, 0.003), (0.997, 0.003), (0.997, 0.997), (0.003, 0.997), (0.003, 0.003)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    mouse.move(*places[0])
    mouse.down()
    for place in places[1:]:
        mouse.move(*place, steps=4)
    mouse.up()
    page.page.keyboard.up("Shift")
    page.until(lambda: "all 200 nodes of the cohort" in page.text("#label-what"))
    page.page.locator("#label-classes button").first.click()
    page.until(lambda: f"Kept: 200 nodes as {CLASSES[0]}." in page.text("#label-kept"))
    assert list(kept(labelling).values()) == [0] * 200


def test_retraining_shows_progress_and_then_the_new_run(
    opened: Callable[..., ExplorerPage], labelling: Labelling, axe: str
) -> None:
    page = opened(cohort="wrong")
    before = page.text("#facts"), page.text("#cohort-list")
    test = labelling.run.split.test[:30].tolist()
    for label in range(3):
        labelling.give([k for k in test if labelling.run.data.labels[k] == label], label)
    page.page.reload()
    page.until(lambda: "30 labels" in page.text("#label-count"))
    page.page.locator("#label-train").focus()
    page.page.keyboard.press("Enter")
    page.until(page.page.locator("#label-bar").is_visible)
    assert violations(page.page, axe) == []
    for _ in range(3):  # the page answers meanwhile
        page.page.locator("#next").click()
    page.until(page.page.locator("#label-result").is_visible, 6 * PATIENCE)  # a process of its own
    page.until(page.page.locator("#label-train").is_visible)
    page.until(lambda: page.text("#facts") != before[0])
    rows = page.text("#label-table")
    assert f"Accuracy on the {labelling.run.split.test.size - 30} test nodes" in rows
    assert "written to run-labelled" in page.text("#label-said")
    now = load_run(labelling.run.folder.with_name("run-labelled"))
    assert f"GCN {now.accuracy.mean:.1f}" in page.text("#facts")
    assert violations(page.page, axe) == []
    page.page.locator("#view-map").dispatch_event("click")
    page.until(page.page.locator("#cohort-list").is_visible)
    page.until(lambda: page.text("#cohort-list") != before[1])
    page.page.locator("#label-other").click()
    page.until(lambda: page.text("#facts") == before[0])
    assert page.text("#label-other") == "Show the retrained run"
    page.until(lambda: page.text("#cohort-list") == before[1])


def test_the_token_of_the_link_is_kept_out_of_the_address_and_without_it_nothing_is_shown(
    browser: Any, opened: Callable[..., ExplorerPage], labelling: Labelling, address: str
) -> None:
    page = opened(node=at(TARGET))
    assert "token" not in page.page.url
    link = page.page.url
    tab = page.context.new_page()  # a copied link
    tab.goto(link)
    page.until(lambda: tab.locator("#answer-title").inner_text() == at(TARGET))
    stranger = ExplorerPage(browser, address).open(node=at(TARGET))
    assert "open the link that `agnn explore` printed" in stranger.text("#message")
    assert at(TARGET) not in stranger.page.content().replace(link, "")
    stranger.page.goto(f"{address}/#token={labelling.token}")  # in the same tab
    stranger.until(lambda: "kept in run.labels.jsonl" in stranger.text("#label-count"))
    stranger.close()


def test_the_file_that_the_program_opens_leads_to_the_page(
    browser: Any, labelling: Labelling, address: str, tmp_path: Path
) -> None:
    from agnn.cli._serve import _page_to

    page = ExplorerPage(browser, address)
    page.page.goto(_page_to(f"{address}/#token={labelling.token}", str(tmp_path)))
    page.until(lambda: "kept in run.labels.jsonl" in page.text("#label-count"))
    assert page.complaints == []
    page.close()


def test_a_training_is_cancelled(opened: Callable[..., ExplorerPage], labelling: Labelling) -> None:
    page = opened(node=at(TARGET))
    page.page.locator("#label-classes button").first.click()
    page.until(lambda: page.text("#label-kept").startswith("Kept"))
    page.page.locator("#label-train").click()
    page.until(page.page.locator("#label-cancel").is_visible)
    page.page.locator("#label-cancel").click()
    page.until(lambda: "The training was cancelled" in page.text("#label-said"))
    assert page.page.locator("#label-train").is_visible()
    assert kept(labelling) == {TARGET: 0}


def test_the_labels_are_downloaded_as_a_table(opened: Callable[..., ExplorerPage]) -> None:
    page = opened(node=at(TARGET))
    page.page.locator("#label-classes button").nth(1).click()
    page.until(page.page.locator("#label-csv").is_visible)
    with page.page.expect_download() as download:
        page.page.locator("#label-csv").click()
    assert download.value.suggested_filename == "run.labels.csv"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text == f"id,class\n{at(TARGET)},{CLASSES[1]}\n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_label_mode(
    opened: Callable[..., ExplorerPage], axe: str, scheme: str
) -> None:
    page = opened(node=at(TARGET), context={"color_scheme": scheme})
    page.page.locator("#label-classes button").first.click()
    page.until(lambda: page.text("#label-kept").startswith("Kept"))
    assert violations(page.page, axe) == []


def test_a_page_without_label_mode_has_no_such_card(explorer: Any) -> None:
    page = explorer(node=at(TARGET))
    assert not page.page.locator("#label-card").is_visible()
    page.page.keyboard.press("l")
