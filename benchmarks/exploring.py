"""How long the explorer's visitor waits: `python -m benchmarks.exploring RUN`, with a Chromium.

The run is served by the program itself. Every figure is measured in the page, from the question
(or, for the first, from the start of the navigation) until the browser has painted the answer.
For a walk there is also the processor time of server and page, which other programs on the machine
do not stretch.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_PROGRAM = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"
_LOADS = "performance.getEntriesByName('agnn-load')"
_PATIENCE = 120.0  # seconds
# Walks inside the page, so that nothing but the page itself takes its time.
_WALK = """async ([steps, seed]) => {
  for (let step = 0; step < steps; step++) {
    const dots = [...document.querySelectorAll(".dot:not([data-dot='0'])")];
    seed = (seed * 48271) % 2147483647;
    const dot = dots[seed % dots.length], before = performance.getEntriesByName("agnn-load").length;
    dot.focus();
    dot.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    while (performance.getEntriesByName("agnn-load").length <= before) {
      await new Promise((done) => setTimeout(done, 10));
    }
  }
  return performance.getEntriesByName("agnn-load").slice(1).map((each) => each.duration);
}"""


@contextmanager
def served(run: str) -> Iterator[tuple[str, int, float]]:
    """The address of the run's page, the server's process, and the seconds until it was there."""
    began = time.perf_counter()
    command = [sys.executable, "-c", _PROGRAM, "explore", run, "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            line = server.stdout.readline() if server.stdout else ""
            address = json.loads(line)["address"]
            yield address, server.pid, time.perf_counter() - began
        finally:
            server.terminate()


def drawn(page: Any, before: int) -> dict[str, float]:
    """The next neighbourhood's measure, once it is painted."""
    end = time.monotonic() + _PATIENCE
    while page.evaluate(f"{_LOADS}.length") <= before:
        if time.monotonic() > end:
            raise TimeoutError("the page drew nothing")
        page.wait_for_timeout(20)
    entry: dict[str, float] = page.evaluate(f"{_LOADS}.at(-1).toJSON()")
    return entry


def first_paints(browser: Any, address: str, times: int) -> list[float]:
    """Milliseconds from navigation to the painted map, in fresh browsers."""
    found = []
    for _ in range(times):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        entry = drawn(page, 0)
        found.append(entry["startTime"] + entry["duration"])
        context.close()
    return found


class Walk(NamedTuple):
    """A walk to random neighbours in the picture."""

    milliseconds: list[float]  # of every step
    server_cpu: float  # milliseconds a step
    page_cpu: float


def frames_while_panning(browser: Any, address: str) -> float:
    """Frames a second that the page draws while the map is dragged."""
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.goto(address)
    drawn(page, 0)
    box = page.locator("#map-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(
        "window.counted = 0; const next = () => { counted++; requestAnimationFrame(next); }; next()"
    )
    began = time.perf_counter()
    for step in range(120):
        page.mouse.move(x + 100 * math.sin(step / 10), y + 60 * math.cos(step / 10))
    frames, seconds = page.evaluate("counted"), time.perf_counter() - began
    page.close()
    return float(frames / seconds)


def opened(browser: Any, address: str, node: str) -> tuple[Any, Any]:
    """A page on which a node is drawn, and the session that measures its processor time."""
    page = browser.new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"{address}/#node={node}")
    drawn(page, 0)
    return page, session


def walked(browser: Any, address: str, node: str, server: int, steps: int) -> Walk:
    """A walk of some steps from a node."""
    page, session = opened(browser, address, node)
    before = server_seconds(server), page_seconds(session)
    found = page.evaluate(_WALK, [steps, 1])
    after = server_seconds(server), page_seconds(session)
    page.close()
    used = [1e3 * (late - early) / steps for early, late in zip(before, after, strict=True)]
    return Walk(found, *used)


def changed(browser: Any, address: str, node: str, server: int, times: int) -> Walk:
    """Removals of the edge behind the first bar of a node's waterfall, each of them undone."""
    page, session = opened(browser, address, node)
    found, used = [], [0.0, 0.0]
    for _ in range(times):
        count = page.evaluate(f"{_LOADS}.length")
        before = server_seconds(server), page_seconds(session)
        page.locator(".waterfall button.remove").first.click()
        found.append(drawn(page, count)["duration"])
        after = server_seconds(server), page_seconds(session)
        used = [own + late - early for own, early, late in zip(used, before, after, strict=True)]
        page.locator("#as-trained").click()
        drawn(page, count + 1)
    page.close()
    return Walk(found, *(1e3 * each / times for each in used))


def server_seconds(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def page_seconds(session: Any) -> float:
    """Processor time of the page's main thread so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def picture(browser: Any, address: str, link: str, times: int) -> list[float]:
    """Milliseconds until one linked picture is painted, asked for again and again."""
    found = []
    for _ in range(times):
        page = browser.new_page()
        page.goto(f"{address}/{link}")
        found.append(drawn(page, 0)["duration"])
        page.close()
    return found


def summary(values: list[float]) -> dict[str, float]:
    """Median, largest and number of some milliseconds."""
    return {
        "median": round(statistics.median(values)), "largest": round(max(values)), "n": len(values)
    }  # fmt: skip


def main() -> None:
    """Measure one run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a folder that `agnn train --out` wrote")
    parser.add_argument("--times", type=int, default=7, help="of the first paint")
    parser.add_argument("--steps", type=int, default=40, help="of the walk")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = os.environ.get("AGNN_CHROMIUM") or shutil.which("chromium")
    with served(options.run) as (address, server, seconds), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        found = page.evaluate("fetch('/api/search?q=').then((answer) => answer.json())")
        hub = found["nodes"][0]
        start = page.evaluate("fetch('/api/about').then((answer) => answer.json())")["start"]
        walk = walked(browser, address, hub["id"], server, options.steps)
        what_if = changed(browser, address, start, server, options.times)
        record = {
            "run": options.run,
            "load_average": os.getloadavg()[0],
            "seconds_until_served": round(seconds, 1),
            "first_paint_ms": summary(first_paints(browser, address, options.times)),
            "frames_while_panning": round(frames_while_panning(browser, address)),
            "walk_ms": summary(walk.milliseconds),
            "walk_cpu_ms": {"server": round(walk.server_cpu), "page": round(walk.page_cpu)},
            "what_if_ms": summary(what_if.milliseconds),
            "what_if_cpu_ms": {
                "server": round(what_if.server_cpu),
                "page": round(what_if.page_cpu),
            },
            "hub": {"id": hub["id"], "neighbours": hub["degree"]},
        }
        for limit in (60, 300):
            link = f"#node={hub['id']}&limit={limit}"
            record[f"hub_{limit}_ms"] = summary(picture(browser, address, link, options.times))
        browser.close()
    sys.stdout.write(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
