"""How long the explorer's visitor waits: `python -m benchmarks.exploring RUN`, with a Chromium.

The run is served by the program itself. Every figure is measured in the page, from the question
(or, for the first, from the start of the navigation) until the browser has painted the answer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PROGRAM = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"
_LOADS = "performance.getEntriesByName('agnn-load')"
_PATIENCE = 120.0  # seconds


@contextmanager
def served(run: str) -> Iterator[tuple[str, float]]:
    """The address of the run's page, and the seconds until it was there."""
    began = time.perf_counter()
    command = [sys.executable, "-c", _PROGRAM, "explore", run, "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            line = server.stdout.readline() if server.stdout else ""
            address = json.loads(line)["address"]
            yield address, time.perf_counter() - began
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
    """Milliseconds from navigation to the painted picture, in fresh browsers."""
    found = []
    for _ in range(times):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        entry = drawn(page, 0)
        found.append(entry["startTime"] + entry["duration"])
        context.close()
    return found


def walks(browser: Any, address: str, steps: int) -> list[float]:
    """Milliseconds of every step of a walk to random neighbours in the picture."""
    source = random.Random(0)  # noqa: S311
    page = browser.new_page()
    page.goto(address)
    drawn(page, 0)
    found = []
    for step in range(steps):
        dots = page.locator(".dot").all()
        source.choice(dots[1:] or dots).press("Enter")
        found.append(drawn(page, 1 + step)["duration"])
    page.close()
    return found


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
    with served(options.run) as (address, seconds), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        found = page.evaluate("fetch('/api/search?q=').then((answer) => answer.json())")
        hub = found["nodes"][0]
        record = {
            "run": options.run,
            "load_average": os.getloadavg()[0],
            "seconds_until_served": round(seconds, 1),
            "first_paint_ms": summary(first_paints(browser, address, options.times)),
            "walk_ms": summary(walks(browser, address, options.steps)),
            "hub": {"id": hub["id"], "neighbours": hub["degree"]},
        }
        for limit in (60, 300):
            link = f"#node={hub['id']}&limit={limit}"
            record[f"hub_{limit}_ms"] = summary(picture(browser, address, link, options.times))
        browser.close()
    sys.stdout.write(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
