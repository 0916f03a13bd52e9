"""The page and the notebook's view of an explanation: everything is told, and names stay text."""

from __future__ import annotations

import numpy as np
import pytest
from page_reader import PageReader, assert_asks_for_nothing, assert_names_are_unique

from agnn.data import NodeData
from agnn.explanation import Counterfactual, explain
from agnn.methods import get_method
from agnn.report import explanation_page, shown_explanation, surroundings_of
from agnn.runs import Run, evaluate
from agnn.tables import signed_number

WICKED = "<script>alert('x')</script>\x1b[31m&\u202e"


def opened_with(names: list[str], toy: NodeData, method: str = "agnn") -> Run:
    data = NodeData.build(
        name="toy <b>", features=toy.features, labels=toy.labels, edges=toy.edges,
        class_names=("red", "<i>green</i>", "blue"), node_ids=names, splits=toy.splits,
    )  # fmt: skip
    return evaluate(get_method(method)(epochs=20), data, "fixed", seeds=(0, 1))


@pytest.fixture(scope="module")
def opened(toy: NodeData) -> Run:
    return opened_with([f"{WICKED} {k}" for k in range(toy.nodes)], toy)


@pytest.fixture(scope="module")
def node(opened: Run) -> int:
    return int(np.argmax(opened.graph.degrees.numpy()))


@pytest.fixture(scope="module")
def page(opened: Run, node: int) -> str:
    found = explain(opened, node, limit=4)
    return explanation_page(found, surroundings_of(opened, node), Counterfactual.of(opened, node))


def test_the_page_asks_for_nothing_and_its_names_are_its_own(page: str) -> None:
    assert_asks_for_nothing(page)
    assert_names_are_unique(page)


def test_a_wicked_name_stays_text(page: str, node: int) -> None:
    read = PageReader(page)
    assert "script" not in {tag for tag, _ in read.tags}
    assert "i" not in {tag for tag, _ in read.tags}
    assert "<script>alert('x')</script>\N{REPLACEMENT CHARACTER}[31m&" in read.text
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert f" {node}" in read.text


def test_the_page_tells_all_parts(opened: Run, node: int, page: str) -> None:
    found, text = explain(opened, node, limit=4), PageReader(page).text
    for heading in (
        "Probabilities", "Nodes that reach it", "Contributions to", "Training nodes that reach it",
        "The features that contribute most to",
    ):  # fmt: skip
        assert heading in text
    for each in found.neighbours:
        assert f"{100 * each.weight:.1f} %" in text
    assert f"{found.rest.nodes} more nodes" in text
    assert f"temperature {opened.temperature:.2f}" in text
    for lens in ("contribution", "attention", "removal"):
        assert f'id="around-{lens}-node-{node}"' in page
    assert page.count('aria-label="Legend of the picture."') == 3
    assert found.sentence.split(",")[0] in text
    for step in found.lead.steps:
        assert signed_number(step.value) in text


def test_whose_removal_changes_the_answer_is_told(opened: Run) -> None:
    for node in range(5, 120):
        changed = Counterfactual.of(opened, node)
        if changed is not None:
            break
    assert changed is not None
    found = explain(opened, node)
    text = PageReader(explanation_page(found, surroundings_of(opened, node), changed)).text
    assert "What would change it" in text
    assert "the prediction would be" in text
    without = PageReader(explanation_page(found, surroundings_of(opened, node))).text
    assert "What would change it" not in without


def test_fixed_weights_are_said_to_be_no_attention_on_the_page(toy: NodeData) -> None:
    opened = opened_with([str(k) for k in range(toy.nodes)], toy, "gcn")
    page = explanation_page(explain(opened, 60), surroundings_of(opened, 60))
    assert "GCN learns no attention" in PageReader(page).text


@pytest.mark.parametrize("node", [0, 60])
def test_an_explanation_shows_itself_in_a_notebook(opened: Run, node: int) -> None:
    shown = shown_explanation(opened, node, limit=3)
    part = shown._repr_html_()
    read = PageReader(part)
    assert {"html", "head", "body", "script", "style"}.isdisjoint({tag for tag, _ in read.tags})
    (picture,) = [own for tag, own in read.tags if tag == "img"]
    assert str(picture["src"]).startswith("data:image/svg+xml;base64,")
    assert "alert('x')" in str(picture["alt"])
    assert read.text.startswith(f"AGNN predicts {shown.prediction} (")
    assert "What carries" in read.text
    assert shown.to_dict() == explain(opened, node, limit=3).to_dict()
    assert repr(shown) == shown.in_words()
