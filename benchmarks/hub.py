"""How long a hub takes: `python -m benchmarks.hub FOLDER`, on a graph of a million nodes.

A graph with 10 million edges whose degrees follow a power law is made and trained on for two
epochs, once, in FOLDER. `agnn explore` then serves the run in a process of its own. Printed are
the seconds until its address is there, the largest memory of that process, and how long it takes
to answer for the node with the most neighbours, for its second-largest and for ordinary nodes, in
seconds and in processor time, which other programs do not stretch. `--explain` adds `agnn.explain`
at the hub, in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np

from agnn.data import NodeData, Split
from agnn.explanation import explain
from agnn.methods import get_method
from agnn.runs import evaluate, load_run, save_run
from benchmarks.exploring import served, server_seconds
from benchmarks.synthetic import power_law

CLASSES, FEATURES = 5, 32


def made(nodes: int, edges: int) -> NodeData:
    """A power-law graph whose features tell the classes with noise."""
    graph = power_law(nodes, edges, exponent=2.5)
    source = np.random.default_rng(0)
    labels = source.integers(CLASSES, size=nodes)
    features = source.standard_normal((nodes, FEATURES)).astype(np.float32)
    features[np.arange(nodes), labels] += 2.0
    receivers, senders = graph.receivers.numpy(), graph.senders.numpy()
    once = receivers < senders
    order = source.permutation(nodes)
    split = Split("fixed", *(np.sort(each) for each in np.split(order, [1000, 2000])))
    return NodeData.build(
        name="power-law", features=features, labels=labels,
        edges=np.stack([receivers[once], senders[once]]),
        class_names=[f"class {k}" for k in range(CLASSES)],
        node_ids=[str(k) for k in range(nodes)], splits={"fixed": split},
    )  # fmt: skip


def asked(address: str, process: int, node: str, times: int) -> dict[str, Any]:
    """Median and largest seconds of the picture of a node, and the median processor time."""
    query = urlencode({"node": node, "hops": 2, "limit": 60})
    seconds, cpu = [], []
    for _ in range(times):
        began, used = time.perf_counter(), server_seconds(process)
        with urlopen(f"{address}/api/around?{query}") as answer:  # noqa: S310
            found = json.load(answer)
        seconds.append(time.perf_counter() - began)
        cpu.append(server_seconds(process) - used)
    return {
        "neighbours": found["node"]["degree"],
        "not_shown": found["sides"][0]["left_out"],
        "seconds": round(statistics.median(seconds), 3),
        "largest": round(max(seconds), 3),
        "cpu_seconds": round(statistics.median(cpu), 3),
    }


def peak_gib(process: int) -> float:
    """The largest memory of a process so far."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    line = next(each for each in lines if each.startswith("VmHWM"))
    return round(int(line.split()[1]) / 2**20, 2)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of the run; made if it is not there")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_600_000, help="drawn; repeats are left out")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--explain", action="store_true")
    options = parser.parse_args()
    if not options.folder.exists():
        method = get_method("agnn")(epochs=2, layers=2)
        save_run(
            evaluate(method, made(options.nodes, options.edges), "fixed", range(2)), options.folder
        )
    run = load_run(options.folder)
    order = np.argsort(-run.graph.degrees.numpy(), kind="stable")
    places = [0, 1, len(order) // 50, len(order) // 2]
    ids = [str(run.data.node_ids[k]) for k in order[places]]
    record: dict[str, Any] = {"nodes": run.data.nodes, "edges": run.graph.edges // 2}
    if options.explain:
        for name in ("explain_seconds", "explain_again_seconds"):
            began = time.perf_counter()
            explain(run, int(order[0]))
            record[name] = round(time.perf_counter() - began, 2)
    del run
    with served(str(options.folder)) as (address, process, seconds):
        record |= {"load_average": os.getloadavg()[0], "seconds_until_served": round(seconds, 1)}
        record["pictures"] = [asked(address, process, node, options.times) for node in ids]
        record["peak_gib"] = peak_gib(process)
    sys.stdout.write(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
