"""The most and the least relevant edges against their definition."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
import torch
from torch import Tensor

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation import Relevance
from agnn.explanation._reach import layer_weights
from agnn.networks._layers import Beta
from built_models import AGNN, GCN
from properties import as_matrix
from toy_runs import run_of


def ranked_by_definition(P: Tensor, y: list[int]) -> list[tuple[int, int]]:
    """The edges (i, j) between labelled nodes from the most to the least relevant, Eq. (9)."""
    size = (P > 0).sum(1)  # |N(i)| + 1
    edges = [(i, j) for i, j in P.nonzero().tolist() if i != j and min(y[i], y[j]) >= 0]
    return sorted(edges, key=lambda e: (-float(P[e] * size[e[0]] - 1.0), e))


def share_of_equals(edges: list[tuple[int, int]], y: list[int]) -> float:
    return fmean(y[i] == y[j] for i, j in edges)


@pytest.fixture(scope="module")
def data(toy: NodeData) -> NodeData:
    """The toy graph with a third of its labels unknown."""
    labels = np.where(np.arange(toy.nodes) % 3 == 0, -1, toy.labels)
    return NodeData.build(
        name="toy", features=toy.features, labels=labels, edges=toy.edges,
        class_names=toy.class_names,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model() -> AGNN:
    return AGNN(30, 3, (0, 1, 2), betas=(Beta(0.0, learned=False), Beta(3.0), Beta(6.0)), hidden=4)


def test_the_ranking_is_the_definition_in_every_layer_and_replica(
    model: AGNN, data: NodeData
) -> None:
    trained, y = run_of(model, data), data.labels.tolist()
    weights = layer_weights(model, trained.whole_view())
    found = Relevance.of(run_of(model, data)).rankings(count=20)
    assert [each.layer for each in found] == [1, 2, 3]
    for ranking, weight in list(zip(found, weights, strict=True))[1:]:
        assert ranking.top is not None
        assert ranking.bottom is not None
        for r, P in enumerate(as_matrix(trained.graph, weight)):
            expected = ranked_by_definition(P, y)
            assert ranking.top_edges[r].tolist() == [list(e) for e in expected[:20]]
            assert ranking.bottom_edges[r].tolist() == [list(e) for e in expected[-20:]]
            assert ranking.top.values[r] == pytest.approx(share_of_equals(expected[:20], y))
            assert ranking.bottom.values[r] == pytest.approx(share_of_equals(expected[-20:], y))
            assert ranking.everywhere == pytest.approx(share_of_equals(expected, y))
            assert ranking.ranked == len(expected)


def test_edges_with_an_unlabelled_end_are_left_out_and_counted(model: AGNN, data: NodeData) -> None:
    ranking = Relevance.of(run_of(model, data)).rankings(count=5)[-1]
    i, j = data.edges
    unknown = (data.labels[i] < 0) | (data.labels[j] < 0)
    assert ranking.left_out == 2 * unknown.sum() > 0
    assert ranking.ranked + ranking.left_out == 2 * i.size
    assert (data.labels[ranking.top_edges] >= 0).all()


def test_a_layer_that_attends_evenly_has_no_shares(model: AGNN, data: NodeData) -> None:
    first = Relevance.of(run_of(model, data)).rankings(count=5)[0]
    assert first.top is None
    assert first.bottom is None
    assert 0 < first.everywhere < 1


def test_edges_of_equal_relevance_stand_in_the_order_of_their_ends() -> None:
    """Two separate squares of equal nodes and a star: all relevances in the squares are 0."""
    squares = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]
    features = np.vstack([np.ones((8, 2)), [[1, 0], [0, 1], [1, 0]]])
    data = NodeData.build(
        name="ties", features=features, labels=[0] * 11, class_names=("a",),
        edges=np.array([*squares, (8, 9), (8, 10)]).T,
    )  # fmt: skip
    model = AGNN(2, 1, (0,), betas=(Beta(2.0),), hidden=6)
    edges = Relevance.of(run_of(model, data)).rankings(count=20)[0].top_edges[0].tolist()
    inside = [(i, j) for i, j in edges if i < 8]
    assert inside == sorted(inside)
    assert len(inside) == 16


@pytest.mark.parametrize("count", [0, 10_000])
def test_a_count_that_the_edges_do_not_have_is_refused(
    model: AGNN, data: NodeData, count: int
) -> None:
    with pytest.raises(InputError, match=rf"between 1 and the \d+ directed edges.*got {count}\."):
        Relevance.of(run_of(model, data)).rankings(count=count)


def test_a_model_without_attention_has_no_ranking(data: NodeData) -> None:
    with pytest.raises(
        InputError, match=r"relevance is defined for attention, which GCN does not learn\."
    ):
        Relevance.of(run_of(GCN(30, 3), data)).rankings()


def test_attention_that_prefers_equals_ranks_them_first() -> None:
    """Node 0 has neighbours like itself and unlike itself; features are the class."""
    labels = np.array([0, 0, 0, 1, 1, 1])
    data = NodeData.build(
        name="mixed", features=np.eye(2)[labels], labels=labels, class_names=("a", "b"),
        edges=[[0, 0, 0, 0, 3, 3], [1, 2, 3, 4, 4, 5]],
    )  # fmt: skip
    model = AGNN(2, 2, (0,), betas=(Beta(4.0),), hidden=2)
    with torch.no_grad():
        model.first.weight.copy_(torch.eye(2)[None])
    ranking = Relevance.of(run_of(model, data)).rankings(count=4)[0]
    assert ranking.top is not None
    assert ranking.bottom is not None
    assert ranking.top.mean == 1.0
    assert ranking.bottom.mean == 0.0
