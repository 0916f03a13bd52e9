"""The paired difference of two classifiers, against its definition in plain Python."""

from __future__ import annotations

import math
import statistics
import tracemalloc

import numpy as np
import pytest
import torch

from agnn.data import NodeData, Split
from agnn.metrics import NodeDifference


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
    found = NodeDifference.between(
        "accuracy", scores_of(ours), scores_of(theirs), data_of(labels), splits
    )
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
        return NodeDifference.between(
            "accuracy", scores_of(ours), scores_of(theirs), data_of(labels), [split]
        )

    assert difference(100).mean == pytest.approx(30.0)
    assert difference(100).is_clear
    assert not difference(6).is_clear


def test_a_classifier_against_itself_differs_by_nothing():
    scores = scores_of(np.zeros((1, 5), dtype=int))
    split = Split("all", [4], [], [*range(4)])
    found = NodeDifference.between(
        "accuracy", scores, scores, data_of(np.array([0, 0, 1, 1, 0])), [split]
    )
    assert (found.mean, *found.interval) == (0.0, 0.0, 0.0)
    assert not found.is_clear


def test_a_lower_loss_is_better():
    draw = np.random.default_rng(2)
    labels = draw.integers(0, 2, 50)
    good = torch.tensor(np.where(np.eye(2)[labels] > 0, 0.8, 0.2))[None]
    poor = torch.full((1, 50, 2), 0.5)
    split = Split("all", [0], [], [*range(1, 50)])
    found = NodeDifference.between("log_loss", good, poor, data_of(labels), [split])
    assert found.mean == pytest.approx(math.log(0.5) - math.log(0.8))
    assert found.is_clear
    assert not NodeDifference.between("log_loss", poor, good, data_of(labels), [split]).is_clear


def test_replicas_without_a_defined_measure_are_left_out():
    labels = np.array([0, 1, 0, 1, 0, 0])
    draw = np.random.default_rng(3)
    ours, theirs = (torch.tensor(draw.dirichlet((1, 1), (2, 6))) for _ in range(2))
    mixed, single = Split("a", [0], [], [1, 2, 3, 4]), Split("b", [0], [], [4, 5])
    data = data_of(labels)
    found = NodeDifference.between("auc", ours, theirs, data, [mixed, single])
    assert found == NodeDifference.between("auc", ours[:1], theirs[:1], data, [mixed])
    assert NodeDifference.between("auc", ours[1:], theirs[1:], data, [single]) is None


def test_a_difference_has_the_probabilities_of_one_classifier_at_a_time_in_memory() -> None:
    """A graph may have 100 million labelled nodes."""
    nodes = 20_000
    draw = np.random.default_rng(0)
    scores = torch.from_numpy(draw.random((1, nodes, 20), dtype=np.float32))
    rival = torch.full((1, 1, 20), 0.05).expand(1, nodes, 20)
    data = data_of(draw.integers(0, 2, nodes))
    split = Split("fixed", [0], [1], np.arange(2, nodes))
    tracemalloc.start()
    NodeDifference.between("accuracy", scores, rival, data, [split])
    peak = tracemalloc.get_traced_memory()[1] / nodes
    tracemalloc.stop()
    assert peak < 2 * 4 * 20, "bytes per node; two of them, or one in double precision, take more"
