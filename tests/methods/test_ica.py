"""Iterative classification against visiting node by node."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from agnn.errors import InputError
from agnn.graph import adjacency, normalise_rows
from agnn.methods import Task
from agnn.methods._ica import ICA, OneVsRest, sweep


def visited_one_by_one(weights, labels, fixed, slopes, order, sweeps):
    """The definition: every visit computes the node's margins from its neighbours' labels."""
    found = labels.copy()
    for _ in range(sweeps):
        for i in order:
            a = weights[[i]].toarray()[0] @ np.eye(slopes.shape[0])[found]
            found[i] = (fixed[i] + a @ slopes).argmax()
    return found


@pytest.mark.parametrize("sweeps", [1, 2, 5])
@pytest.mark.parametrize("normalise", [False, True])
def test_sweeps_are_visits_one_by_one(toy, sweeps, normalise):
    source = np.random.default_rng(sweeps)
    graph = adjacency(toy.edges, toy.nodes)
    given = (
        normalise_rows(graph) if normalise else graph, source.integers(3, size=toy.nodes),
        source.normal(size=(toy.nodes, 3)), source.normal(size=(3, 3)),
        source.permutation(toy.nodes)[:90], sweeps,
    )  # fmt: skip
    found = sweep(*given)
    assert (found == visited_one_by_one(*given)).all()
    assert (found != given[1]).any()


def test_nodes_are_visited_in_an_order_of_the_seeds(cora):
    split = cora.split("fixed")
    scores = ICA().run(Task(cora, (split,) * 2, (0, 1))).scores
    answers = scores.argmax(-1)
    assert (answers[0] != answers[1]).any()
    assert (answers[0] == answers[1]).double().mean() > 0.9


def test_a_class_without_labels_has_no_probability():
    x = np.eye(4)
    model = OneVsRest.fit(x, np.array([0, 0, 2, 2]), 3, 1.0)
    found = OneVsRest.probabilities(model.margins(x))
    assert (found[:, 1] == 0).all()
    assert (found.argmax(1) == [0, 0, 2, 2]).all()


def test_probabilities_are_logistic_and_scaled_to_one():
    margins = np.array([[0.3, -1.0, 2.0], [-400.0, -500.0, -800.0]])
    found = OneVsRest.probabilities(margins)
    plain = expit(margins[0])
    assert found[0] == pytest.approx(plain / plain.sum())
    assert found[1] == pytest.approx([1, np.exp(-100), 0])  # plain numbers would be 0 / 0


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(InputError, match="unknown aggregate 'sum'; known: count, share"):
        ICA(aggregate="sum")
