"""The metrics that are computed on the watched nodes in every epoch, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn.graph import Graph, features_of
from agnn.metrics import MEASURES
from agnn.metrics._measures import METRICS
from agnn.training import BestScore, HighestAccuracy, LowestLoss, Targets, WindowStop


def targets_and_outputs(classes: int) -> tuple[Targets, torch.Tensor, list[np.ndarray]]:
    """Three replicas with sets of unequal size, and outputs with ties."""
    source = np.random.default_rng(classes)
    nodes = 60
    labels = source.integers(classes, size=nodes)
    sets = [source.permutation(nodes)[:size] for size in (60, 31, 12)]
    edges = source.integers(nodes, size=(2, 90))
    graph = Graph.from_edges(edges, nodes)
    features = features_of(np.eye(nodes, dtype=np.float32))
    targets = Targets.build(features, graph, labels, sets, hops=1)
    outputs = torch.from_numpy(source.integers(-3, 4, size=(3, nodes, classes)) / 2.0).float()
    known = targets.view.field.targets
    return targets, outputs[:, known], [outputs[r].numpy()[np.sort(sets[r])] for r in range(3)]


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("metric", [name for name in METRICS if name != "log_loss"])
def test_a_watched_metric_is_the_measure_of_each_replicas_own_nodes(metric, classes):
    targets, outputs, own = targets_and_outputs(classes)
    found = targets.scores(targets.pick(outputs), metric)
    for r, logits in enumerate(own):
        labels = targets.labels[r, : len(logits)].numpy()
        probabilities = torch.from_numpy(logits).softmax(-1).numpy()
        assert 100.0 * float(found[r]) == pytest.approx(
            MEASURES[metric](labels, probabilities), abs=1e-4
        )


def test_any_rule_becomes_one_that_keeps_the_best_metric():
    assert LowestLoss(30).by("auc", 200) == BestScore(30, "validation", "auc")
    assert WindowStop(10, "test").by("f1", 200) == BestScore(200, "test", "f1")
    assert HighestAccuracy(4).by("log_loss", 7) == BestScore(7, "validation", "log_loss")


def test_a_negative_score_is_kept_if_it_is_the_best_so_far():
    tracker = BestScore(10).tracker(1, torch.device("cpu"))
    kept = [
        bool(tracker.update(torch.tensor([epoch]), torch.tensor([score]), torch.tensor([1.0])))
        for epoch, score in enumerate((-9.0, -5.0, -7.0, -2.0), 1)
    ]
    assert kept == [True, True, False, True]
