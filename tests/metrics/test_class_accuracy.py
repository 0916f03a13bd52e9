"""Accuracy by class, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn.data import NodeData, Split
from agnn.metrics import ClassAccuracy, Interval

LABELS = [0, 0, 0, 1, 1, 1, -1]


@pytest.fixture
def data() -> NodeData:
    return NodeData.build(
        name="seven", features=np.eye(7), labels=LABELS, edges=[[0], [1]],
        class_names=("a", "b", "c"),
    )  # fmt: skip


def scores_of(*answers: list[int]) -> torch.Tensor:
    """[R, n, 3] Every replica's answers with probability 0.8, class c getting the rest."""
    own = torch.nn.functional.one_hot(torch.tensor(answers), 3).double()
    return 0.8 * own + torch.tensor([0.0, 0.0, 0.2])


def test_each_class_has_its_own_share_for_replicas_and_for_the_ensemble(data):
    split = Split("s", [0, 3], [], [1, 2, 4, 5])
    # Nodes 1 and 2 are of class a, 4 and 5 of class b. The majority has 1, 4 and 5 right.
    scores = scores_of([0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 0])
    a, b, c = ClassAccuracy.by_class(scores, data, (split,) * 3)
    assert (a.name, a.count, a.right, a.ensemble) == ("a", 2, 1, 50.0)
    assert a.replicas.values == (50.0, 100.0, 50.0)
    assert a.interval == Interval.percent(1, 2)
    assert (b.count, b.right) == (2, 2)
    assert b.replicas.values == (100.0, 50.0, 100.0)
    assert b.replicas.mean == pytest.approx(250 / 3)
    assert b.replicas.standard_error == pytest.approx(np.std([100, 50, 100], ddof=1) / np.sqrt(3))
    assert (c.count, c.ensemble, c.interval, c.replicas) == (0, None, None, None)
    assert c.to_dict()["wilson_interval"] is None


def test_folds_of_a_trial_are_taken_together(data):
    first, second = Split("1", [0, 3], [], [1, 2, 4]), Split("2", [1, 4], [], [0, 3, 5])
    right, wrong = [0, 0, 0, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0]
    a, b, _ = ClassAccuracy.by_class(
        scores_of(right, wrong, right, right), data, (first, second) * 2, folds=2
    )
    # In trial one the fold of nodes 1, 2, 4 is right and that of 0, 3, 5 is wrong.
    assert a.replicas.values == pytest.approx((200 / 3, 100.0))
    assert b.replicas.values == pytest.approx((100 / 3, 100.0))


def test_a_replica_is_not_asked_about_a_node_that_it_learned_from(data):
    one, other = Split("1", [0, 3], [], [1, 4]), Split("2", [1, 4], [], [0, 3])
    # Each is right on what the other tests and wrong on its own: nothing counts as right.
    scores = scores_of([0, 1, 0, 1, 0, 1, 0], [1, 0, 0, 0, 1, 1, 0])
    a, b, _ = ClassAccuracy.by_class(scores, data, (one, other))
    assert (a.count, a.right, b.count, b.right) == (2, 0, 2, 0)


def test_a_replica_without_usable_weights_takes_no_part(data):
    split = Split("s", [0, 3], [], [1, 2, 4, 5])
    right, wrong = [0, 0, 0, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0]
    scores = scores_of(wrong, right, wrong)
    a, b, _ = ClassAccuracy.by_class(scores, data, (split,) * 3, members=[1], unusable=[0, 2])
    for of_class in (a, b):
        assert of_class.ensemble == 100.0
        assert of_class.replicas.values == (100.0,)


def test_a_class_that_a_replica_does_not_test_has_fewer_values(data):
    one, other = Split("1", [0, 3], [], [1, 4]), Split("2", [0, 3], [], [2])
    scores = scores_of([*LABELS[:6], 0], [*LABELS[:6], 0])
    a, b, _ = ClassAccuracy.by_class(scores, data, (one, other))
    assert (a.replicas.n, b.replicas.n) == (2, 1)
    assert b.replicas.standard_error is None
