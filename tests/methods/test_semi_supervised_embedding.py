"""Semi-supervised embedding: its loss on pairs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn.errors import InputError
from agnn.graph import Graph, SparseFeatures, View
from agnn.kernels import Dropout
from agnn.methods import Task
from agnn.networks import SemiSupervisedEmbedding
from agnn.networks._semi_supervised_embedding import squared_distances
from properties import assert_close


def parts(data):
    return SparseFeatures.from_scipy(data.scaled_features("sum")), Graph.from_edges(
        data.edges, data.nodes
    )


def test_distances_are_those_of_each_replicas_own_pairs():
    h = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    i, j = torch.tensor([[[0, 1], [2, 2], [4, 0]], [[1, 3], [2, 0], [0, 4]]])
    found = squared_distances(h, i, j)
    expected = torch.tensor(
        [[float((h[r, a] - h[r, b]).square().sum()) for a, b in zip(i[r], j[r], strict=True)]
         for r in range(3)]
    )  # fmt: skip
    assert_close(found, expected, 1e-6)


def test_the_term_is_that_of_the_docstring_in_the_mean(toy):
    """So many pairs that their mean is the mean over all."""
    method = SemiSupervisedEmbedding(weight=2.0, margin=0.8, pairs=200_000, dropout=0.0)
    features, graph = parts(toy)
    model = method.build(features.width, 3, (0,), "auto")
    loss = method.extra_loss(model, features, graph, (0,))
    h = model.hidden_states(View.whole(features, graph, 0))[0].detach()
    distance = torch.cdist(h, h)
    near = distance[graph.receivers, graph.senders].square().mean()
    far = (0.8 - distance).relu().square().mean()
    found = loss(Dropout((0,), (0.0,)))
    assert_close(found, 2.0 * (near + far)[None], 5e-3)


def test_every_step_draws_other_pairs(toy):
    method = SemiSupervisedEmbedding(pairs=50)
    features, graph = parts(toy)
    loss = method.extra_loss(
        method.build(features.width, 3, (0, 1), "auto"), features, graph, (0, 1)
    )
    dropout = Dropout((0, 1), (0.0, 0.0))
    first, second = loss(dropout), loss(dropout)
    assert (first != second).all()
    assert first[0] != first[1]


def test_a_strong_term_pulls_neighbours_together(toy):
    ratios = []
    for weight in (0.0, 10.0):
        task = Task(toy, (toy.split("fixed"),), (0,))
        model = SemiSupervisedEmbedding(weight=weight, epochs=60).run(task).model
        features, graph = parts(toy)
        h = model.hidden_states(View.whole(features, graph, 0))[0].detach()
        near = (h[graph.receivers] - h[graph.senders]).norm(dim=1).mean()
        ratios.append(float(near / torch.cdist(h, h).mean()))
    assert ratios[1] < 0.9 * ratios[0]


@pytest.mark.parametrize("name", ["hidden", "pairs"])
def test_sizes_below_one_are_refused(name):
    with pytest.raises(InputError, match=f"`{name}` must be at least 1; got 0"):
        SemiSupervisedEmbedding(**{name: 0})


def test_without_edges_only_random_pairs_are_left(toy):
    graph = Graph.from_edges(np.zeros((2, 0), int), toy.nodes)
    features, _ = parts(toy)
    method = SemiSupervisedEmbedding()
    loss = method.extra_loss(method.build(features.width, 3, (0,), "auto"), features, graph, (0,))
    assert torch.isfinite(loss(Dropout((0,), (0.0,)))).all()
