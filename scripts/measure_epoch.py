"""Print the processor time of an epoch, training step and evaluation, on one thread.

    python scripts/measure_epoch.py cora separated --replicas 10
    python scripts/measure_epoch.py pages.csv,links.csv appnp --label page_type --labels 40

GRAPH is "cora", an .npz file, or a table of nodes and one of edges. A graph with splits of its own
uses them; others are cross-fitted, with all labels hidden but `--labels` random ones. Two trees are
compared by running the script with each in turn on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import agnn
from agnn.data import NodeData, SplitSpec, load_dataset, make_splits
from agnn.graph import Graph, features_of
from agnn.kernels import recycled_memory
from agnn.networks import NetworkMethod
from agnn.runs import prepare
from agnn.training import Problem
from agnn.training._loop import TrainingRun

WARM_UP = 2  # epochs


def main() -> None:
    """Time some epochs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graph")
    parser.add_argument("method")
    parser.add_argument("--replicas", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--label", help="column of the table of nodes")
    parser.add_argument("--labels", type=int, help="known labels; the others are hidden")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = read(options.graph, options.label)
    if options.labels is not None:
        data = with_few_labels(data, options.labels)
    run = training_run(data, options.method, options.replicas)
    seconds = []
    with recycled_memory():
        next_epoch = run.repeated_epoch()
        for epoch in range(1, WARM_UP + options.epochs + 1):
            start = time.process_time()
            next_epoch(epoch)
            seconds.append(time.process_time() - start)
    measured = 1000 * np.array(seconds[WARM_UP:])
    print(f"{np.median(measured):.1f} ms, the fastest {measured.min():.1f} ms; {agnn.__file__}")


def read(graph: str, label: str | None) -> NodeData:
    """Return a graph; Cora without its presets."""
    if graph == "cora":
        return replace(load_dataset("cora"), name="Cora without presets")
    if graph.endswith(".npz"):
        return agnn.read_graph(Path(graph))
    nodes, edges = graph.split(",")
    return agnn.read_tables(nodes=nodes, edges=edges, label=label)


def with_few_labels(data: NodeData, count: int) -> NodeData:
    """Return the data with so many random labels, at least two of every class."""
    random = np.random.default_rng(0)
    known = data.labelled[:0]
    while np.bincount(data.labels[known], minlength=data.classes).min() < 2:
        known = random.choice(data.labelled, count, replace=False)
    labels = np.full_like(data.labels, -1)
    labels[known] = data.labels[known]
    return replace(data, labels=labels, splits={})


def training_run(data: NodeData, name: str, replicas: int) -> TrainingRun:
    """Return a training of a method's defaults that has not begun."""
    spec = SplitSpec.of(None, data, replicas)
    method = prepare(name, data, spec.text)
    if not isinstance(method, NetworkMethod):
        raise SystemExit(f"{name} has no epochs.")
    data = method.usable(data)
    seeds = tuple(range(replicas))
    splits = make_splits(data, spec.text, seeds)[:replicas]
    graph = Graph.of(data)
    features = features_of(method.features(data))
    model = method.build(features.width, data.classes, seeds)
    problem = Problem(features, graph, data.labels, splits, seeds)
    recipe = method.recipe_by(None, spec.passes(replicas))
    objective = method.objective(model, features, graph)
    extra_loss = method.extra_loss(model, features, graph, seeds)
    return TrainingRun(model, problem, recipe, extra_loss, objective)


if __name__ == "__main__":
    main()
