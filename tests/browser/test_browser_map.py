"""The map, the cohorts and the confusion matrix, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
from explorer_page import ExplorerPage, Opener, at

from explore_runs import NODES


def on_screen(page: ExplorerPage, node: int) -> tuple[float, float]:
    """Where a node is drawn, in pixels of the canvas: as the page computes it."""
    found = page.page.evaluate("fetch('/api/map').then((r) => r.json())")
    import base64

    places = np.frombuffer(base64.b64decode(found["places"]), "<u2").reshape(-1, 2).astype(float)
    box = page.page.locator("#map-canvas").bounding_box()
    size = np.array([box["width"], box["height"]])
    if (np.ptp(places[:, 0]) < np.ptp(places[:, 1])) != (size[0] < size[1]):
        places = places[:, ::-1]  # the longer side along the longer one of the screen
    spread = np.ptp(places, axis=0)
    scale = ((size - 24) / spread).min()
    x, y = size / 2 + scale * (places[node] - places.min(0) - spread / 2)
    return float(x), float(y)


def test_the_first_screen_is_a_map_of_all_nodes(explorer: Opener) -> None:
    page = explorer()
    assert page.page.locator("#map-canvas").is_visible()
    assert not page.page.locator("#node-view").is_visible()
    assert f"{NODES} nodes; principal components" in page.text("#map-about")
    inked = page.page.evaluate(
        """() => { const canvas = document.getElementById('map-canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((_, k) => k % 4 === 3).filter((alpha) => alpha > 0).length; }"""
    )
    assert inked > 4 * NODES


def test_a_click_on_a_point_walks_there_and_the_way_stays_visible(explorer: Opener) -> None:
    page = explorer()
    x, y = on_screen(page, 100)
    page.page.locator("#map-canvas").hover(position={"x": x, "y": y})
    page.until(page.page.locator("#tip").is_visible)
    name = page.page.locator("#tip b").inner_text()
    page.after_load(lambda: page.page.locator("#map-canvas").click(position={"x": x, "y": y}))
    assert page.title() == name
    options = page.search("paper 17")
    page.after_load(options.first.click)
    page.page.locator("#search").blur()
    assert page.text("#path").split("→")[0].strip() == name
    page.after_load(lambda: page.page.keyboard.press("m"))
    assert page.page.locator("#map-canvas").is_visible()
    page.after_load(page.page.go_back)
    assert page.title() == "paper 17"


def test_colours_are_in_the_link_and_the_legend(explorer: Opener) -> None:
    page = explorer()
    page.page.select_option("#map-colour", "split")
    page.until(lambda: "colour=split" in page.page.url)
    assert "validation" in page.text("#map-legend")
    again = explorer(colour="split")
    assert again.text("#map-legend") == page.text("#map-legend")


def test_a_cohort_is_counted_walked_and_linked(explorer: Opener, runs: list[Any]) -> None:
    run = runs[0]
    answers, labels = run.probabilities.argmax(1), run.data.labels
    is_open = np.ones(NODES, dtype=bool)
    is_open[run.split.train] = False
    wrong = np.flatnonzero(is_open & (labels >= 0) & (answers != labels))
    page = explorer()
    assert f"Wrong ({wrong.size})" in page.text("#who")
    page.page.select_option("#who", "wrong")
    page.until(lambda: "cohort=wrong" in page.page.url)
    order = wrong[np.argsort(-run.probabilities[wrong].max(1), kind="stable")]
    for node in order[:2]:
        page.after_load(lambda: page.page.keyboard.press("n"))
        assert page.title() == at(int(node))
        assert "This is wrong" in page.text("#verdict")
    assert page.text("#which") == f"2 of {wrong.size}"
    again = explorer(node=at(int(order[1])), cohort="wrong")
    again.until(lambda: again.text("#which") == f"2 of {wrong.size}")


def test_a_cell_of_the_confusion_matrix_is_a_filter(explorer: Opener, runs: list[Any]) -> None:
    run = runs[0]
    answers, labels = run.probabilities.argmax(1), run.data.labels
    is_in = (labels == 0) & (answers == 1)
    is_in[run.split.train] = False
    page = explorer()
    cell = page.page.locator("[data-key='cell-0-1']")
    assert cell.inner_text() == str(is_in.sum())
    cell.click()
    page.until(lambda: "cohort=cell-0-1" in page.page.url)
    assert "red predicted as green" in page.text("#differ")
    if is_in.any():
        page.after_load(page.page.locator("#next").click)
        assert is_in[run.node(page.title())]


def test_a_lasso_makes_a_cohort(explorer: Opener) -> None:
    page = explorer()
    box = page.page.locator("#map-canvas").bounding_box()
    mouse, corners = page.page.mouse, [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98)]
    page.page.keyboard.down("Shift")
    mouse.move(box["x"] + 0.02 * box["width"], box["y"] + 0.02 * box["height"])
    mouse.down()
    for x, y in corners[1:]:
        mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    mouse.up()
    page.page.keyboard.up("Shift")
    page.until(lambda: page.text("#which") == f"– of {NODES}")  # noqa: RUF001
    assert f"Circled: {NODES} nodes." in page.text("#differ")


def test_a_cohort_that_is_not_there_gives_a_sentence(explorer: Opener) -> None:
    page = explorer(cohort="nonsense")
    page.until(page.page.locator("#message").is_visible)
    assert "there is no cohort 'nonsense'" in page.text("#message")


def test_the_map_fills_the_canvas_and_is_zoomed_by_buttons_and_two_fingers(
    explorer: Opener,
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = explorer(context=phone)
    read = """() => { const canvas = document.getElementById('map-canvas');
        const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const inked = []; for (let k = 3; k < data.length; k += 4) if (data[k]) inked.push((k - 3) / 4);
        const xs = inked.map((k) => k % width), ys = inked.map((k) => Math.floor(k / width));
        const most = (each) => each.reduce((a, b) => Math.max(a, b)), least = (each) => each.reduce((a, b) => Math.min(a, b));
        return [(most(xs) - least(xs)) / canvas.width, (most(ys) - least(ys)) / canvas.height]; }"""  # noqa: E501
    assert max(page.page.evaluate(read)) > 0.9
    page.page.locator("#map-farther").tap()
    assert max(page.page.evaluate(read)) < 0.75
    page.page.locator("#map-fit").tap()
    assert max(page.page.evaluate(read)) > 0.9
    box = page.page.locator("#map-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = page.context.new_cdp_session(page.page)

    def touch(kind: str, apart: float) -> None:
        points = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
        session.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if apart else []}
        )

    touch("touchStart", 120)
    for apart in (100, 80, 60):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    page.until(lambda: max(page.page.evaluate(read)) < 0.6)
    assert page.page.locator("#map-canvas").is_visible(), "two fingers walk nowhere"
    page.complaints[:] = [each for each in page.complaints if "getImageData" not in each]  # ours


def test_nodes_that_all_lie_at_one_place_are_in_the_middle(
    browser: Any, runs: list[Any], served: Any
) -> None:
    from agnn.web.explore import Explorer
    from agnn.web.explore._node_map import NodeMap

    nodes = np.arange(NODES)
    layout = NodeMap(nodes, np.full((NODES, 2), 0.25, dtype=np.float32), "nothing")
    page = ExplorerPage(browser, served(Explorer(runs[:1], layout=layout))).open()
    box = page.page.locator("#map-canvas").bounding_box()
    middle = {"x": box["width"] / 2, "y": box["height"] / 2}
    page.page.locator("#map-canvas").hover(position=middle)
    page.until(page.page.locator("#tip").is_visible)
    page.close()
