"""The picture and what can be done in it, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
from explorer_page import Opener, at, neighbours

from agnn.explanation import Margin
from explore_runs import ALONE, CLASSES, FIRST_UNLABELLED, HUB

TARGET, MINUS = 100, "\N{MINUS SIGN}"


def test_sliding_over_the_layers_changes_sizes_and_words(explorer: Opener) -> None:
    page = explorer(node=at(TARGET), lens="attention")
    side = page.page.evaluate(f"fetch('/api/around?node={at(TARGET)}').then((r) => r.json())")
    shown = side["sides"][0]["nodes"]
    assert page.text("#layer-name") == "all layers"
    scales = []
    for view in range(4):
        page.page.locator("#layer").fill(str(view))
        assert page.text("#layer-name") == ("all layers" if view == 0 else f"layer {view}")
        radii = [page.radius(each["index"]) for each in shown]
        wanted = [each["radius"][view] for each in shown]
        seen = [k for k, radius in enumerate(radii) if radius > 3.5]  # smaller ones are held up
        scales += [radii[k] / wanted[k] for k in seen]
        assert f"layer={view}" in page.page.url or view == 0
    assert np.ptp(scales) < 0.03 * np.mean(scales)


def test_one_replica_or_the_mean(explorer: Opener, runs: list[Any]) -> None:
    page = explorer(node=at(TARGET))
    probability = runs[0].scores[1, TARGET]
    page.after_load(lambda: page.page.select_option("#replica", value="1"))
    best = int(probability.argmax())
    assert f"AGNN predicts {CLASSES[best]} ({100 * float(probability.max()):.1f} %)" in page.text(
        "#spoken"
    )
    page.after_load(lambda: page.page.select_option("#replica", value=""))
    mean = float(runs[0].probabilities[TARGET].max())
    assert f"({100 * mean:.1f} %)" in page.text("#spoken")


def test_hops_widen_the_picture(explorer: Opener, runs: list[Any]) -> None:
    page = explorer(node=at(TARGET), hops=1)
    assert page.page.locator(".dot").count() == 1 + len(neighbours(runs[0], TARGET))
    page.after_load(lambda: page.page.check("#hops-2", force=True))
    assert page.page.locator(".dot").count() > 1 + len(neighbours(runs[0], TARGET))


def test_pointing_at_a_node_shows_p_and_r(explorer: Opener, runs: list[Any]) -> None:
    page = explorer(node=at(TARGET), hops=1)
    node = neighbours(runs[0], TARGET)[0]
    page.dot(node).hover()
    page.until(page.page.locator("#tip").is_visible)
    tip = page.text("#tip")
    weights = runs[0].model.attentions(runs[0].whole_view())
    place = neighbours(runs[0], TARGET).index(node) + int(runs[0].graph.offsets[TARGET])
    share = len(neighbours(runs[0], TARGET)) + 1
    assert tip.startswith(at(node))
    for layer, attention in enumerate(weights, start=1):
        value = float(attention.edges.mean(0)[place])
        relevance = f"{value * share - 1:+.2f}".replace("-0.00", "+0.00").replace("-", MINUS)
        assert f"layer {layer}\tP {value:.3f}\tR {relevance}" in tip


def test_clicking_walks_and_the_back_button_comes_home(explorer: Opener, runs: list[Any]) -> None:
    page = explorer(node=at(TARGET), hops=1)
    node = neighbours(runs[0], TARGET)[0]
    page.after_load(page.dot(node).click)
    assert page.title() == at(node)
    assert page.page.locator("[data-dot='0']").get_attribute("data-node") == str(node)
    page.after_load(page.page.go_back)
    assert page.title() == at(TARGET)


def test_the_target_is_outlined_and_training_nodes_have_stars(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(HUB), limit=600, single="true")
    width = page.dot(HUB).locator("path").first.get_attribute("stroke-width")
    assert float(width) > 3
    starred = page.page.locator(".dot:has(.star)")
    found = {int(each.get_attribute("data-node")) for each in starred.all()}
    shown = {int(each.get_attribute("data-node")) for each in page.page.locator(".dot").all()}
    assert found == shown & set(runs[0].split.train.tolist())
    assert found


def test_a_node_without_a_label_has_an_empty_mark(explorer: Opener) -> None:
    page = explorer(node=at(FIRST_UNLABELLED))
    assert page.text("#verdict") == "Its label is not known."
    mark = page.dot(FIRST_UNLABELLED).locator("path").first
    assert mark.get_attribute("fill") == "#ffffff"
    assert "no label" in page.text("#legend")


def test_a_hub_shows_the_most_attended_and_more_on_demand(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(HUB), hops=1, single="true")
    near = len(neighbours(runs[0], HUB)) + 1
    assert page.page.locator(".dot").count() == 60
    assert f"60 nodes shown, {near - 60} less important not (" in page.text("#rest")
    page.after_load(page.page.locator("#more").click)
    assert page.page.locator(".dot").count() == near
    assert page.page.locator("#more").count() == 0


def test_a_hub_is_drawn_in_groups_and_as_single_nodes_on_request(
    explorer: Opener, runs: list[Any]
) -> None:
    page = explorer(node=at(HUB))
    steps = [step for step in Margin.of(runs[0], HUB).steps if step.nodes and step.kind != "itself"]
    groups = [step for step in steps if step.kind in ("group", "rest")]
    assert groups
    marks = page.page.locator(".canvas .group")
    assert sorted(mark.get_attribute("aria-label").rpartition(":")[0] for mark in marks.all()) == (
        sorted(step.name for step in groups)
    )
    assert page.page.locator(".dot").count() == 1 + len(steps) - len(groups)
    others = sum(step.nodes for step in steps)
    assert page.text("#rest").startswith(f"{others} other nodes that reach it, drawn in groups.")
    page.page.locator("#grouping").click()
    assert page.page.locator(".dot").count() == 60
    assert marks.count() == 0
    assert "single=true" in page.page.url
    assert page.page.evaluate("document.activeElement.id") == "grouping"
    page.page.locator("#grouping").click()
    assert marks.count() == len(groups)
    assert "single" not in page.page.url


def test_the_attention_of_a_hub_is_in_groups_for_all_layers_together(explorer: Opener) -> None:
    page = explorer(node=at(HUB), lens="attention")
    shares = [
        int(mark.get_attribute("aria-label").rpartition(":")[2].rstrip(" %").split(".")[0])
        for mark in page.page.locator(".canvas .group").all()
    ]
    assert 50 < sum(shares) <= 100
    page.page.locator("#layer").fill("1")
    assert page.page.locator(".canvas .group").count() == 0
    assert page.page.locator(".dot").count() == 60


def test_a_node_alone_is_shown(explorer: Opener) -> None:
    page = explorer(node=at(ALONE))
    assert page.page.locator(".dot").count() == 1
    assert page.text("#rest") == "1 node shown."


def test_labels_lie_neither_on_marks_nor_on_each_other(explorer: Opener) -> None:
    page = explorer(node=at(HUB), hops=2, limit=120, single="true")
    boxes = page.page.evaluate(
        "() => [...document.querySelectorAll('.canvas .name')].map((each) => each.getBBox())"
        ".map((b) => [b.x, b.y, b.x + b.width, b.y + b.height])"
    )
    assert len(boxes) > 3
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            apart = one[0] > other[2] or other[0] > one[2] or one[1] > other[3] - 2
            assert apart or other[1] > one[3] - 2
