"""Sets and novelty of a fitted NodeClassifier."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from agnn.errors import InputError
from agnn.estimator import NodeClassifier


@pytest.fixture(scope="module")
def model(larger_toy) -> NodeClassifier:
    split = "5-fold-cross-fit"
    return NodeClassifier("gcn", parameters={"epochs": 20}, split=split, replicas=5).fit(larger_toy)


def test_sets_are_those_of_the_run(model, larger_toy):
    expected = model.run_.predict_set(0.8).is_member
    assert expected.shape == model.predict_proba().shape
    assert (model.predict_set(coverage=0.8) == expected).all()
    ids = list(larger_toy.node_ids[3:6])
    assert (model.predict_set(ids, 0.8) == expected[3:6]).all()
    assert (model.predict_set(larger_toy, 0.8, score="daps") == model.run_.predict_set(
        0.8, score="daps").is_member).all()  # fmt: skip


def test_another_graph_has_sets_too(model, larger_toy):
    features = larger_toy.features.toarray()
    sets = model.predict_set(features, 0.8, edges=larger_toy.edges)
    run = model.run_
    reference = run.predict_set(0.8).rule.reference
    n = larger_toy.nodes
    judged = 1.0 - run.scores.numpy()  # each replica tests a fold of its own
    fold_of = np.argmax([np.isin(np.arange(n), split.test) for split in run.splits], 0)
    drawn = [crc32(str(node_id).encode()) % n for node_id in range(n)]
    scores = judged[fold_of[drawn], np.arange(n)]
    expected = [
        1 + (reference.values[:, None] >= scores[:, k]).sum(0) > 0.2 * (n + 1) for k in range(3)
    ]
    expected = np.transpose(expected)
    assert (sets == expected).mean() > 0.99  # sums in another order


def test_novelty_is_that_of_the_run(model):
    assert np.array_equal(model.predict_novelty(), model.run_.predict_novelty().p_values)


def test_three_parts_need_test_nodes_that_calibrate(toy):
    fitted = NodeClassifier("gcn", parameters={"epochs": 2}, split="fixed", replicas=1).fit(toy)
    with pytest.raises(InputError, match="calibrate_on='test'"):
        fitted.predict_set()
