"""`python -m benchmarks.recycling`: epochs with and without memory that is used again.

Without it, every large state of a step is fresh memory of the system. Both are timed in turn in a
process with the C library's own settings, as a notebook has them; the program `agnn` changes some.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from statistics import median
from typing import Any
from unittest.mock import patch

from agnn import get_method, load_dataset
from agnn.methods import Task
from benchmarks.machine import machine, software

CASES = {  # method, dataset, replicas, epochs
    "AGNN+, Cora, 1 replica": ("agnn_plus", "cora", 1, 30),
    "AGNN+, Cora, 10 replicas": ("agnn_plus", "cora", 10, 10),
    "AGNN+, PubMed, 3 replicas": ("agnn_plus", "pubmed", 3, 6),
    "AGNN, PubMed, 10 replicas": ("agnn", "pubmed", 10, 10),
}


def epochs(method: str, dataset: str, replicas: int, count: int) -> tuple[float, float]:
    """Milliseconds and new pages of an epoch: the median, and the mean."""
    data = load_dataset(dataset)
    times, pages = [], []

    def look(*_: int) -> None:
        times.append(time.perf_counter())
        pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)

    task = Task(data, (data.splits["fixed"],) * replicas, tuple(range(replicas)), progress=look)
    get_method(method)().with_fields(epochs=count, scaling="length").run(task)
    each = [after - before for before, after in pairwise(times)]
    return 1e3 * median(each), (pages[-1] - pages[0]) / len(each)


def measured(case: str, rounds: int) -> dict[str, dict[str, float]]:
    """A case with fresh memory and with recycled memory, in turn; of each the median round."""
    no_recycling = patch("agnn.training._loop.recycled_memory", nullcontext)
    epochs(*CASES[case][:3], 2)  # compiles
    seen: dict[str, list[tuple[float, float]]] = {"fresh": [], "recycled": []}
    for _ in range(rounds):
        for name, found in seen.items():
            with no_recycling if name == "fresh" else nullcontext():
                found.append(epochs(*CASES[case]))
    return {
        name: dict(zip(("ms", "pages"), map(median, zip(*found, strict=True)), strict=True))
        for name, found in seen.items()
    }


def table(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """The figures as a Markdown table."""
    lines = ["| epoch | fresh memory | recycled | |", "| --- | --- | --- | --- |"]
    for case, each in found.items():
        cells = [f"{each[k]['ms']:.3g} ms, {each[k]['pages']:,.0f} pages" for k in each]
        lines.append(
            f"| {case} | {cells[0]} | {cells[1]} | "
            f"{each['fresh']['ms'] / each['recycled']['ms']:.2f}x |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the cases; JSON on standard output, the table on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recycling", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {case: measured(case, options.rounds) for case in CASES}
    sys.stderr.write(table(found) + "\n")
    about = {"machine": machine(), "software": software()}
    sys.stdout.write(json.dumps(about | {"cases": found}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
