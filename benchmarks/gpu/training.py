"""Training on the paper's datasets: a step of one replica, an epoch of a hundred."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from agnn.data import NodeData, load_dataset
from agnn.graph import Graph, SparseFeatures
from agnn.methods import NetworkMethod
from agnn.runs import evaluate, preset_method
from agnn.training import (
    Problem,
)
from agnn.training._captured import Captured
from agnn.training._loop import TrainingRun
from benchmarks.gpu.clock import DEVICE, clock
from benchmarks.timing import compare

DATASETS = ("cora", "citeseer", "pubmed")
REPLICAS = 100


def our_run(data: NodeData, replicas: int) -> TrainingRun:
    """A training run of AGNN with the paper's settings, on the GPU."""
    method = preset_method("agnn", "fixed", data.name.lower())
    assert isinstance(method, NetworkMethod)  # noqa: S101 (AGNN is one)
    seeds = tuple(range(replicas))
    graph = Graph.from_edges(data.edges, data.nodes).to(DEVICE)
    features = SparseFeatures.from_scipy(data.scaled_features("sum")).to(DEVICE)
    model = method.build(features.width, data.classes, seeds, "auto").to(DEVICE)
    splits = (data.split("fixed"),) * replicas
    problem = Problem(features, graph, data.labels, splits, seeds)
    return TrainingRun(model, problem, method.recipe())


def _warm(run: TrainingRun, work: Callable[[], object]) -> Callable[[], object]:
    """The recorded form of `work`, which may be repeated without end."""
    recorded = Captured(lambda: _again(run, work))
    for _ in range(4):
        recorded()
    if recorded.graph is None:
        raise RuntimeError("the step waits for the host and cannot be recorded")
    return recorded.graph.replay


def _works(run: TrainingRun) -> dict[str, Callable[[], object]]:
    """What can be timed, by its name in the peer's training."""
    return {"step": run.update, "epoch": run.epoch}


def _again(run: TrainingRun, work: Callable[[], object]) -> None:
    # The history has a row for each epoch of the recipe: stay in the middle of it.
    run.number.fill_(10)
    work()


def peer_training(data: NodeData, *, is_compiled: bool) -> Any:
    """PyG's example on the GPU, with as many layers as ours."""
    from benchmarks import peer

    method: Any = preset_method("agnn", "fixed", data.name.lower())
    learned = [beta.learned for beta in method.betas]
    first = peer.DenseInput(data)
    first.x = first.x.to(DEVICE)
    model = peer.Example(first, data.classes, learned, add_loops=True).to(DEVICE)
    edges = torch.tensor(data.edges, device=DEVICE)
    both = torch.cat([edges, edges.flip(0)], dim=1)
    training = peer.Training(model, both, data)
    training.labels = training.labels.to(DEVICE)
    training.masks = [mask.to(DEVICE) for mask in training.masks]
    if is_compiled:
        training.model = torch.compile(model)  # type: ignore[assignment]
    return training


def duel(name: str, replicas: int, work: str, rounds: int) -> dict[str, Any]:
    """`work` ("step" or "epoch") of so many replicas, against PyG eager and compiled."""
    data = load_dataset(name)
    run = our_run(data, replicas)
    mine = _warm(run, _works(run)[work])
    row: dict[str, Any] = {"dataset": name, "replicas": replicas, "work": work, "peers": {}}
    for kind in ("eager", "compiled"):
        try:
            training = peer_training(data, is_compiled=kind == "compiled")
            timing = compare(
                mine, getattr(training, work), rounds=rounds, units=replicas, clock=clock
            )
        except Exception as error:
            row["peers"][kind] = {"error": str(error)[:200]}
            continue
        ours, peer = (1e3 * sorted(each)[rounds // 2] for each in (timing.ours, timing.peer))
        row["ours_ms"] = min(row.get("ours_ms", float("inf")), ours)
        row["peers"][kind] = {"ms": peer}
    row["peer_ms"] = min(each["ms"] for each in row["peers"].values() if "ms" in each)
    row["ratio"] = row["peer_ms"] / row["ours_ms"]
    return row


def fixed_split_table() -> dict[str, Any]:
    """AGNN, GLN and GCN on the three datasets, a hundred replicas each: the time of 900 models."""
    cells, first = [], 0.0
    for name in DATASETS:
        data = load_dataset(name)
        for method in ("agnn", "gln", "gcn"):
            chosen = preset_method(method, "fixed", name)
            start = time.perf_counter()
            evaluate(chosen.with_fields(epochs=3), data, "fixed", range(REPLICAS), device=DEVICE)
            first += time.perf_counter() - start
            start = clock()
            run = evaluate(chosen, data, "fixed", range(REPLICAS), device=DEVICE)
            seconds = clock() - start
            cells.append(
                {
                    "dataset": name,
                    "method": method,
                    "seconds": seconds,
                    "mean": run.accuracy.mean,
                    "standard_error": run.accuracy.standard_error,
                    "n": run.accuracy.n,
                }
            )
    total = sum(cell["seconds"] for cell in cells)
    return {"cells": cells, "seconds": total, "compilation_and_first_epochs": first}
