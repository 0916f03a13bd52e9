"""Each replica's loss and accuracy are those of its own nodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from agnn.graph import Graph, SparseFeatures
from agnn.training._targets import Targets
from properties import assert_close

SETS = {
    "one replica": [[7, 3, 50]],
    "the same nodes": [[7, 3, 50], [50, 3, 7]],
    "other nodes": [[7, 3, 50], [1, 2, 119]],
    "some shared": [[7, 3, 50], [3, 7, 51]],
    "other sizes": [[7, 3, 50, 60, 61], [3], [80, 2]],
    "one inside the other": [[3, 7, 50], [7, 50], [50]],
    "all nodes": [list(range(120))],
}


def build(data, sets):
    graph = Graph.from_edges(data.edges, data.nodes)
    features = SparseFeatures.from_scipy(data.scaled_features("sum"))
    return Targets.build(features, graph, data.labels, [np.array(each) for each in sets], 2)


@pytest.mark.parametrize("kind", SETS)
def test_losses_and_accuracies_are_the_means_over_each_replicas_nodes(kind, toy):
    sets = SETS[kind]
    targets, labels = build(toy, sets), torch.tensor(toy.labels)
    every = torch.randn(len(sets), toy.nodes, 3, generator=torch.Generator().manual_seed(0))
    picked = targets.pick(every[:, targets.view.field.targets])
    for r, nodes in enumerate(sets):
        expected = F.cross_entropy(every[r, nodes], labels[nodes])
        assert_close(targets.losses(picked, "auto")[r], expected, 1e-6)
        right = (every[r, nodes].argmax(1) == labels[nodes]).double().mean()
        assert_close(targets.accuracies(picked)[r], right, 1e-6)


def test_the_view_computes_the_union_and_no_more(toy):
    targets = build(toy, SETS["other sizes"])
    assert targets.view.field.targets.tolist() == [2, 3, 7, 50, 60, 61, 80]
    assert targets.view.field.hops == 2


def test_equally_many_right_answers_are_the_same_accuracy_to_the_bit(
    cora, cora_graph, cora_features
):
    """The first of equal epochs is kept: rounding must not make one of them the better."""
    nodes = cora.split("fixed").validation
    targets = Targets.build(cora_features, cora_graph, cora.labels, [nodes], 1)
    seen = set()
    for seed in range(20):
        right = torch.randperm(500, generator=torch.Generator().manual_seed(seed))[:391]
        answers = (targets.labels + 1) % 7
        answers[:, right] = targets.labels[:, right]
        seen.add(float(targets.accuracies(F.one_hot(answers, 7).float())))
    assert seen == {float(torch.tensor(391 / 500))}
