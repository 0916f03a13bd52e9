"""`python -m benchmarks.threads`: how much faster several threads are, from 1 to all cores.

Each case runs in short bursts on 1, 2, 4, ... threads in turn. A figure is the fastest burst; the
factor is the median of the rounds' own factors over one thread. The case "independent" is
arithmetic that shares nothing: what the machine gives at best. How fast a core reads what another
wrote depends on where the cores lie; on a virtual machine that changes from minute to minute.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch

from agnn._allocator import keep_freed_memory
from agnn.kernels._cpu.simd import jit
from agnn.kernels._cpu.threads import run_in_pieces
from benchmarks import ours
from benchmarks.graphs import RANDOM, graph_of
from benchmarks.machine import machine, software
from benchmarks.timing import Action

_FILL = 0.02  # seconds of a burst


@jit
def _arithmetic(x: Any, first: Any, last: Any) -> None:
    for k in range(first, last):
        value = x[k]
        for _ in range(20_000):
            value = value * 0.999999 + 1e-6
        x[k] = value


def independent() -> Action:
    """Work that shares nothing between threads, about a millisecond."""
    x = np.zeros(64)
    return lambda: run_in_pieces(_arithmetic, (x,), x.size, 10**9)


def layer(graph: str) -> Action:
    """One attention layer forward and backward."""
    nodes = graph_of(graph).nodes
    h, gradient = torch.randn(2, nodes, 16, generator=torch.Generator().manual_seed(0))
    return ours.layer(graph_of(graph), h, gradient)


CASES: Mapping[str, Callable[[], Action]] = {
    "independent": independent,
    "layer/cora": lambda: layer("cora"),
    "layer/pubmed": lambda: layer("pubmed"),
    f"layer/{RANDOM}": lambda: layer(RANDOM),
    "step/cora": lambda: ours.step("cora"),
    "step/pubmed": lambda: ours.step("pubmed"),
    "epoch/pubmed": lambda: ours.epoch("pubmed", 1),
    "10 replicas/cora": lambda: ours.epoch("cora", 10),
}


def counts(most: int) -> list[int]:
    """1, 2, 4, ... and `most` itself."""
    doubled = [2**k for k in range(most.bit_length())]
    return sorted({*doubled, most})


def scaling(action: Action, threads: Sequence[int], rounds: int) -> dict[str, Any]:
    """Milliseconds by number of threads, and how many times faster than on one."""
    before = torch.get_num_threads()
    seen: dict[int, list[float]] = {count: [] for count in threads}
    try:
        for _ in range(rounds):
            for count in threads:
                torch.set_num_threads(count)
                action()  # wakes them
                seen[count].append(_burst(action))
    finally:
        torch.set_num_threads(before)
    one = seen[threads[0]]
    return {
        "ms": {count: 1e3 * min(times) for count, times in seen.items()},
        "factor": {
            count: median(first / each for first, each in zip(one, times, strict=True))
            for count, times in seen.items()
        },
    }


def _burst(action: Action) -> float:
    """Seconds of one call, the mean over a burst."""
    start, calls = time.perf_counter(), 0
    while (passed := time.perf_counter() - start) < _FILL or not calls:
        action()
        calls += 1
    return passed / calls


def table(found: Mapping[str, Mapping[str, Any]], threads: Sequence[int]) -> str:
    """The figures as a Markdown table."""
    lines = ["| case | " + " | ".join(f"{count} threads" for count in threads) + " |"]
    lines.append("|" + " --- |" * (len(threads) + 1))
    for name, each in found.items():
        cells = [f"{each['ms'][k]:.3g} ms ({each['factor'][k]:.2f}x)" for k in threads]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the cases; JSON on standard output, the table on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.threads", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--cases", default=",".join(CASES), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--most", type=int, default=len(os.sched_getaffinity(0)), help="threads")
    options = parser.parse_args(arguments)
    keep_freed_memory()  # as the program `agnn` does
    threads = counts(options.most)
    names = [name for name in CASES if name in options.cases.split(",")]
    found = {name: scaling(CASES[name](), threads, options.rounds) for name in names}
    about = {"machine": machine(), "versions": software(), "rounds": options.rounds}
    sys.stdout.write(json.dumps(about | {"cases": found}, indent=2) + "\n")
    sys.stderr.write(table(found, threads) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
