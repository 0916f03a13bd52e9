"""`python -m benchmarks.own_graph`: a graph of a user's size, trained whole, beside PyG.

100,000 nodes, 1 M edges and 64 dense features: ten replicas of AGNN with four layers for 100
epochs, from the checked data to probabilities, are measured whole. Every few epochs the clock is
stopped and one epoch of one replica of PyG's model is timed in the same process, so that both see
the same machine. What PyG would take for the whole is that epoch's median times replicas times
epochs: an extrapolation, and called one. PyG gets its edges with the self-loops in them, sorted,
which is its fastest form here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
import torch

from agnn.data import NodeData, Split
from agnn.graph import Graph
from agnn.networks import AGNN
from agnn.runs import evaluate
from benchmarks import peer
from benchmarks.graphs import edge_index_with_loops
from benchmarks.machine import machine, software

_CLASSES = 10
_SAME_CLASS = 0.7  # of the edges


def own_graph(nodes: int, edges: int, features: int) -> NodeData:
    """A random graph whose edges are mostly within a class; a fifth of the labels is known."""
    source = np.random.default_rng(0)
    labels = source.integers(_CLASSES, size=nodes)
    centres = source.standard_normal((_CLASSES, features))
    x = source.standard_normal((nodes, features)) + 0.3 * centres[labels]
    i, j = source.integers(nodes, size=(2, edges))
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(_CLASSES + 1))
    counts = np.diff(starts)[labels[i]]
    alike = order[starts[labels[i]] + (source.random(edges) * counts).astype(np.int64)]
    j = np.where(source.random(edges) < _SAME_CLASS, alike, j)
    known = source.permutation(nodes)[: nodes // 5]
    train, validation, test = np.split(known, [3 * known.size // 5, 4 * known.size // 5])
    hidden = labels.copy()
    hidden[np.setdiff1d(np.arange(nodes), known)] = -1
    return NodeData.build(
        name="own graph", features=x.astype(np.float32), labels=hidden, edges=np.stack([i, j]),
        class_names=[f"class {k}" for k in range(_CLASSES)],
        splits={"fixed": Split("fixed", train, validation, test)},
    )  # fmt: skip


def peer_training(data: NodeData, layers: int) -> peer.Training:
    """PyG's example on this data, with as many layers and every beta learned."""
    graph = Graph.from_edges(data.edges, data.nodes)
    model = peer.Example(peer.DenseInput(data), data.classes, [True] * layers, add_loops=False)
    return peer.Training(model, edge_index_with_loops(graph), data)


@dataclass
class Pauses:
    """Times an epoch of the peer after every `every` epochs of ours, and what that took."""

    training: peer.Training
    every: int
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def __call__(self, done: int, _total: int) -> None:
        """Called after every epoch of ours."""
        if done % self.every == 0:
            start, worked = time.perf_counter(), time.process_time()
            self.training.epoch()
            self.seconds.append(time.perf_counter() - start)
            self.processor.append(time.process_time() - worked)


def figures(data: NodeData, replicas: int, layers: int, epochs: int, every: int) -> dict[str, Any]:
    """Seconds of ours, whole, and of an epoch of the peer."""
    training = peer_training(data, layers)
    training.epoch()  # its first is slower
    # Compiled before the clock starts: that happens once a machine.
    evaluate(AGNN(layers=layers, epochs=1), data, "fixed", range(replicas))
    pauses = Pauses(training, every)
    start, worked = time.perf_counter(), time.process_time()
    run = evaluate(
        AGNN(layers=layers, epochs=epochs), data, "fixed", range(replicas), progress=pauses
    )
    seconds = time.perf_counter() - start - sum(pauses.seconds)
    processor = time.process_time() - worked - sum(pauses.processor)
    whole = replicas * epochs
    return {
        "agnn_seconds": seconds,
        "agnn_processor_seconds": processor,
        "agnn_test_accuracy": run.accuracy.mean,
        "pyg_epoch_seconds": pauses.seconds,
        "pyg_epoch_processor_seconds": pauses.processor,
        "pyg_seconds_extrapolated": whole * median(pauses.seconds),
        "ratio": whole * median(pauses.seconds) / seconds,
        "ratio_of_processor_time": whole * median(pauses.processor) / processor,
        "peak_gib_of_both": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def summary(found: dict[str, Any]) -> str:
    """The figures in a line of Markdown."""
    n = len(found["pyg_epoch_seconds"])
    return (
        f"| {found['nodes']:,} nodes, {found['edges']:,} edges, {found['features']} features; "
        f"{found['replicas']} replicas, {found['layers']} layers, {found['epochs']} epochs, "
        f"{found['threads']} threads | {found['agnn_seconds']:.0f} s | about "
        f"{found['pyg_seconds_extrapolated'] / 60:.0f} min, extrapolated from {n} epochs of one "
        f"replica | {found['ratio']:.0f}x |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, time and print: the figures as JSON, a line for people on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.own_graph", description=__doc__.splitlines()[0]
    )
    for name, number in (
        ("nodes", 100_000), ("edges", 1_000_000), ("features", 64), ("replicas", 10),
        ("layers", 4), ("epochs", 100), ("every", 10), ("threads", 2),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=number, help="default: %(default)s")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    data = own_graph(options.nodes, options.edges, options.features)
    size = (options.replicas, options.layers, options.epochs)
    found = vars(options) | {"edges": data.edges.shape[1]}
    found |= {"machine": machine(), "software": software()}
    found |= figures(data, *size, options.every)
    found["load_average_at_end"] = os.getloadavg()[0]
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    sys.stderr.write(summary(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
