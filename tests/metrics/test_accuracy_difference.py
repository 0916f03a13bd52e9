"""The paired difference of two classifiers, against its definition in plain Python."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
import torch

from agnn.data import NodeData, Split
from agnn.metrics import accuracy_difference


def data_of(labels: np.ndarray) -> NodeData:
    return NodeData.build(
        name="pairs", features=np.ones((labels.size, 1)), labels=labels,
        edges=np.zeros((2, 0), dtype=int), class_names=("a", "b"),
    )  # fmt: skip


def scores_of(answers: np.ndarray) -> torch.Tensor:
    """[R, n, 2] with all probability at the given answers [R, n]."""
    return torch.tensor(np.eye(2)[answers])


def test_the_difference_is_paired_by_node_and_averaged_over_replicas():
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 2, 40)
    ours, theirs = draw.integers(0, 2, (2, 3, 40))
    splits = [Split("a", [0], [1], [*range(2, 20)]), Split("b", [0], [1], [*range(10, 40)])]
    splits.append(splits[0])
    found = accuracy_difference(scores_of(ours), scores_of(theirs), data_of(labels), splits)
    gains = []
    for node in range(2, 40):
        own = [
            float(ours[r, node] == labels[node]) - float(theirs[r, node] == labels[node])
            for r, split in enumerate(splits)
            if node in split.test
        ]
        gains.append(100 * statistics.fmean(own))
    error = statistics.stdev(gains) / math.sqrt(len(gains))
    assert found.mean == pytest.approx(statistics.fmean(gains))
    assert found.interval == pytest.approx((found.mean - 1.96 * error, found.mean + 1.96 * error))


def test_a_better_classifier_is_clear_only_with_enough_nodes():
    def difference(nodes: int):
        labels = np.zeros(nodes + 1, dtype=int)  # the last node is for training
        ours, theirs = np.zeros((1, nodes + 1), dtype=int), np.ones((1, nodes + 1), dtype=int)
        theirs[:, : nodes // 2] = 0
        ours[:, nodes - nodes // 5 : nodes] = 1  # wrong where both are wrong
        split = Split("all", [nodes], [], [*range(nodes)])
        return accuracy_difference(scores_of(ours), scores_of(theirs), data_of(labels), [split])

    assert difference(100).mean == pytest.approx(30.0)
    assert difference(100).is_clear
    assert not difference(6).is_clear


def test_a_classifier_against_itself_differs_by_nothing():
    scores = scores_of(np.zeros((1, 5), dtype=int))
    split = Split("all", [4], [], [*range(4)])
    found = accuracy_difference(scores, scores, data_of(np.array([0, 0, 1, 1, 0])), [split])
    assert (found.mean, *found.interval) == (0.0, 0.0, 0.0)
    assert not found.is_clear
