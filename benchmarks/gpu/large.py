"""A full-batch epoch on a graph of the size of ogbn-papers100M."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import torch

from agnn.data import Split
from agnn.graph import DenseFeatures
from agnn.networks import AGNN, NodeModel
from agnn.training import (
    HighestAccuracy,
    Problem,
    ProblemSize,
    Recipe,
    train,
)
from agnn.training._loop import TrainingRun
from benchmarks.gpu.clock import DEVICE, GIB, clock
from benchmarks.synthetic import hashed_circulant

NODES, DEGREE, FEATURES, CLASSES, LAYERS = 111_059_956, 30, 128, 172, 4
TRAINING, VALIDATION = 1_207_179, 125_265  # nodes, as many as that dataset has
_EPOCHS = 6


def epoch(nodes: int = NODES, degree: int = DEGREE, epochs: int = _EPOCHS) -> dict[str, Any]:
    """Seconds of an epoch (a step and a look at the validation nodes) and the peak memory."""
    torch.cuda.reset_peak_memory_stats()
    start = clock()
    graph = hashed_circulant(nodes, degree, device=DEVICE)
    built = clock() - start
    features = DenseFeatures(
        torch.randn(nodes, FEATURES, device=DEVICE, dtype=torch.bfloat16),
        torch.arange(nodes, device=DEVICE),
    )
    share = nodes / NODES
    train_count, seen = int(TRAINING * share), int((TRAINING + VALIDATION) * share)
    labels = np.random.default_rng(0).integers(CLASSES, size=nodes)
    split = Split("leading", np.arange(train_count), np.arange(train_count, seen), [])
    model = AGNN(layers=LAYERS).build(FEATURES, CLASSES).to(DEVICE)
    recipe = Recipe(epochs=epochs, selection=HighestAccuracy(4))
    times = [clock()]
    problem = Problem(features, graph, labels, (split,), (0,))
    history = train(model, problem, recipe, lambda *_: times.append(clock()))
    seconds = np.diff(times)
    step = _step_seconds(model, problem, recipe)
    size = ProblemSize(nodes, graph.edges, FEATURES, CLASSES, feature_bytes=2)
    estimate = AGNN(layers=LAYERS).memory_of(size)
    row = {
        "nodes": nodes,
        "edges": graph.edges,
        "features": FEATURES,
        "classes": CLASSES,
        "layers": LAYERS,
        "seconds": float(np.median(seconds[3:])),
        "step_seconds": step,
        "all_epochs": seconds.tolist(),
        "building_the_graph": built,
        "peak_gib": torch.cuda.max_memory_allocated() / GIB,
        "estimate_gib": estimate.total / GIB,
        "losses": history.training_loss[:, 0].tolist(),
        "betas": model.betas[0].tolist(),
    }
    del graph, features, problem, model, history
    gc.collect()
    torch.cuda.empty_cache()
    return row


def _step_seconds(model: NodeModel, problem: Problem, recipe: Recipe) -> float:
    """The training step alone, without the look at the validation nodes."""
    gc.collect()
    torch.cuda.empty_cache()
    run = TrainingRun(model, problem, recipe)
    run.update()
    start = clock()
    for _ in range(3):
        run.update()
    return (clock() - start) / 3
