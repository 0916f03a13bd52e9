"""Writes docs/screenshots: the explorer on Cora, as a visitor sees it. Trains two runs first.

`make screenshots` runs it with what it needs; runs that are there already can be named instead:
python scripts/screenshots.py RUN_OF_AGNN RUN_OF_GCN
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = [
    sys.executable,
    "-c",
    "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))",
]
FOLDER = Path(__file__).parent.parent / "docs" / "screenshots"
EXAMPLE = "8617"  # of the README: every replica is right, with neighbours for and against
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def trained(folder: Path, method: str) -> str:
    """The folder of a new run of ten replicas on Cora."""
    words = ["train", "cora", "--method", method, "--replicas", "10", "--out", str(folder / method)]
    subprocess.run([*PROGRAM, *words, "--quiet"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return str(folder / method)


def answer(page: Any, question: str, body: Any = None) -> Any:
    """What the server says to the page; with a body it is to do something."""
    headers = {"authorization": page.evaluate("`Bearer ${localStorage.getItem('agnn-token')}`")}
    options = {"headers": headers}
    if body is not None:
        headers["content-type"] = "application/json"
        options |= {"method": "POST", "body": json.dumps(body)}
    script = "([name, options]) => fetch(`/api/${name}`, options).then((found) => found.json())"
    return page.evaluate(script, [question, options])


def telling_node(page: Any) -> str:
    """A node that only AGNN gets right, near nodes of three classes and a training node."""
    right = answer(page, "cohort?key=only-0")["ids"]
    for name in right:
        nodes = answer(page, f"around?node={name}")["sides"][0]["nodes"]
        classes = {node["label"] for node in nodes}
        is_seen = any(node["is_train"] for node in nodes)
        if 12 <= len(nodes) <= 40 and len(classes) >= 3 and is_seen:
            return str(name)
    return str(right[0])


def shot(browser: Any, address: str, name: str, link: str, **context: Any) -> None:
    """One picture of the page at a link, once it is drawn and all its fetches are answered."""
    opened = browser.new_context(**context)
    page = opened.new_page()
    page.goto(f"{address}/#{link}", wait_until="networkidle")
    time.sleep(0.5)
    page.screenshot(path=FOLDER / f"{name}.png")
    if name == "classes":
        page.locator("#classes").screenshot(path=FOLDER / f"{name}.png")
    opened.close()


def all_shots(browser: Any, one: str, two: str) -> None:
    """Every picture of the documentation."""
    page = browser.new_page()
    page.goto(two)
    node = telling_node(page)
    near = answer(page, f"around?node={node}&hops=1")["sides"][0]["nodes"]
    page.close()
    edge = f"{near[0]['index']}-{near[1]['index']}"
    shot(browser, one, "map", "", viewport=WIDE)
    shot(browser, one, "cohort", "cohort=sure-wrong&colour=truth", viewport=WIDE)
    shot(browser, one, "light", f"node={EXAMPLE}", viewport=WIDE)
    shot(
        browser,
        one,
        "dark",
        f"node={node}&lens=removal&without={edge}",
        viewport=WIDE,
        color_scheme="dark",
    )
    shot(browser, two, "compare", f"node={node}&cohort=only-0", viewport=WIDE)
    shot(browser, one, "phone", f"node={EXAMPLE}", viewport=PHONE)
    shot(browser, one, "classes", f"node={node}&cell=0-2-3-4", viewport=WIDE)


def what_if_shot(browser: Any, address: str) -> None:
    """A node without an edge and a feature, and with a new edge."""
    page = browser.new_page()
    page.goto(address)
    near = answer(page, f"around?node={EXAMPLE}&hops=1")["sides"][0]["nodes"]
    column = answer(page, f"features?node={EXAMPLE}")["features"][0]["column"]
    other = answer(page, "cohort?key=wrong")["nodes"][0]
    page.close()
    own = near[0]["index"]
    changes = f"without={own}-{near[1]['index']}&with={own}-{other}&drop={own}-{column}"
    shot(browser, address, "what_if", f"node={EXAMPLE}&hops=1&{changes}", viewport=WIDE)


def label_shot(browser: Any, address: str, token: str) -> None:
    """Some labels, and the run that was trained with them."""
    page = browser.new_page(viewport={"width": 1280, "height": 1330})
    page.goto(f"{address}/#token={token}&colour=error", wait_until="networkidle")
    unsure = answer(page, "cohort?key=disagree")["ids"][:40]
    for name in unsure:
        node = answer(page, f"around?node={name}&hops=1")["node"]
        answer(page, "labels", {"nodes": [node["index"]], "label": node["label"]})
    answer(page, "training", {"action": "start"})
    while answer(page, "training")["is_running"]:
        time.sleep(0.5)
    page.reload(wait_until="networkidle")
    time.sleep(0.5)
    page.screenshot(path=FOLDER / "labels.png")
    page.close()


def why_shot(browser: Any, run: str, folder: Path) -> None:
    """The page that `agnn explain --html` writes."""
    page = browser.new_page(viewport={"width": 780, "height": 1072})
    file = folder / "why.html"
    subprocess.run([*PROGRAM, "explain", run, EXAMPLE, "--html", str(file)], check=True)  # noqa: S603
    page.goto(file.as_uri())
    page.screenshot(path=FOLDER / "why.png")
    page.close()


def main() -> None:
    """Train, serve, and take the pictures."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    program = os.environ.get("AGNN_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as made:
        runs = sys.argv[1:] or [trained(Path(made), method) for method in ("agnn", "gcn")]
        options = ["--no-browser", "--json"]
        labels = ["--label-mode", "--labels", f"{made}/labels.jsonl", "--out", f"{made}/labelled"]
        servers = [
            subprocess.Popen([*PROGRAM, "explore", *words, *options], stdout=subprocess.PIPE)  # noqa: S603
            for words in ([runs[0]], [runs[0], "--compare", runs[1]], [runs[0], *labels])
        ]
        try:
            started = [json.loads(each.stdout.readline()) for each in servers]
            addresses = [each["address"] for each in started]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                all_shots(browser, *addresses[:2])
                what_if_shot(browser, addresses[0])
                label_shot(browser, addresses[2], started[2]["token"])
                why_shot(browser, runs[0], Path(made))
                browser.close()
        finally:
            for each in servers:
                each.terminate()
    sys.stdout.write(f"written to {FOLDER}\n")


if __name__ == "__main__":
    main()
