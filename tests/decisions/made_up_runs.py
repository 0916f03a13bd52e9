"""Runs with made-up scores, for decisions whose figures are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.methods import Majority
from agnn.metrics import Summary
from agnn.runs import KnownResults, Run


def made_up_data(nodes: int, classes: int = 3, seed: int = 0) -> NodeData:
    """A ring whose every node has a label at random; the last two nodes have no edges."""
    rng = np.random.default_rng(seed)
    ring = np.arange(nodes - 2)
    return NodeData.build(
        name="made up",
        features=np.eye(nodes, dtype=np.float32),
        labels=np.concatenate([np.arange(classes), rng.integers(0, classes, nodes - classes)]),
        edges=np.stack([ring, np.roll(ring, -1)]),
        class_names=[f"class {k}" for k in range(classes)],
    )


def made_up_scores(
    data: NodeData, replicas: int, seed: int = 0, disagreement: float = 0.2
) -> NDArray[np.float64]:
    """Probabilities [R, n, c] that favour the true class; by default the replicas mostly agree."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(data.nodes, data.classes))
    logits = logits + disagreement * rng.normal(size=(replicas, data.nodes, data.classes))
    logits[:, data.labelled, data.labels[data.labelled]] += 1.0
    shares = np.exp(logits)
    return shares / shares.sum(-1, keepdims=True)


def made_up_run(
    data: NodeData, scores: NDArray[np.float64], splits: Sequence[Split], spec: str = "fixed"
) -> Run:
    """A run of a method without a network that has these scores [R, n, c]."""
    return Run(
        data=data,
        method=Majority(),
        splits=tuple(splits),
        seeds=tuple(range(len(splits))),
        accuracy=Summary([50.0] * len(splits)),
        split_spec=spec,
        known=KnownResults(scores=torch.tensor(scores), temperature=1.0),
    )


def fixed_run(nodes: int = 60, replicas: int = 2, classes: int = 3, seed: int = 0) -> Run:
    """Five training nodes, the others tested by all replicas."""
    data = made_up_data(nodes, classes, seed)
    split = Split("fixed", list(range(5)), [], list(range(5, nodes)))
    return made_up_run(data, made_up_scores(data, replicas, seed), [split] * replicas)


def folded_run(
    nodes: int = 60, passes: int = 1, classes: int = 3, seed: int = 0, disagreement: float = 0.2
) -> Run:
    """Five folds per pass; every node is tested once in each."""
    data = made_up_data(nodes, classes, seed)
    splits = []
    for number in range(passes):
        order = np.random.default_rng(seed + number).permutation(nodes)
        for fold in range(5):
            test = order[fold::5]
            splits.append(Split(f"{number}-{fold}", np.setdiff1d(order, test), [], test))
    scores = made_up_scores(data, len(splits), seed, disagreement)
    return made_up_run(data, scores, splits, "5-fold-cross-fit")
