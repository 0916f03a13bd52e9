"""Cross-fitted replicas are measured together: one value per pass, over the nodes of all folds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm, t

from agnn.data import NodeData, make_splits
from agnn.metrics import MEASURES, Interval, NodeDifference, replica_values

PASSES = (0, 0, 0, 1, 1, 1)


@pytest.fixture(scope="module")
def scores(toy: NodeData) -> torch.Tensor:
    source = torch.Generator().manual_seed(0)
    return torch.rand(6, toy.nodes, toy.classes, generator=source).softmax(-1)


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_a_measure_of_a_pass_is_that_of_all_its_folds(toy, scores, measure):
    splits = make_splits(toy, "3-fold-cross-fit", [0, 1])
    values = replica_values(measure, scores, toy, splits, PASSES)
    assert len(values) == 2
    for k, value in enumerate(values):
        # Every label, as the replica of this pass predicts it that was not trained on it.
        predicted = np.zeros((toy.nodes, toy.classes))
        for replica in range(3 * k, 3 * k + 3):
            predicted[splits[replica].test] = scores[replica].numpy()[splits[replica].test]
        expected = MEASURES[measure](toy.labels[toy.labelled], predicted[toy.labelled])
        assert value == pytest.approx(expected)


def test_the_auc_of_a_pass_is_defined_where_folds_have_one_class(toy, scores):
    splits = make_splits(toy, f"{toy.labelled.size}-fold-cross-fit", [0])[:6]
    alone = replica_values("auc", scores, toy, splits)
    assert all(map(math.isnan, alone))
    assert math.isfinite(replica_values("auc", scores, toy, splits, [0] * 6)[0])


def test_a_difference_counts_every_node_of_a_pass_once(toy, scores):
    splits = make_splits(toy, "3-fold-cross-fit", [0])
    other = scores[3:]
    difference = NodeDifference.between("accuracy", scores[:3], other, toy, splits, [0, 0, 0])
    ours, theirs = (
        replica_values("accuracy", of, toy, splits, [0, 0, 0])[0] for of in (scores[:3], other)
    )
    assert difference.mean == pytest.approx(ours - theirs)


@pytest.mark.parametrize(("right", "count", "folds"), [(30, 40, 10), (7, 9, 3), (380, 400, 10)])
def test_the_interval_of_folds_is_wilson_s_with_student_s_quantile(right, count, folds):
    z = float(t.ppf(0.975, folds - 1))
    share = right / count
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    interval = Interval.wilson(right, count, folds)
    assert interval == pytest.approx((centre - reach, centre + reach))
    plain = Interval.wilson(right, count)
    assert interval.low < plain.low < plain.high < interval.high
    assert z > float(norm.ppf(0.975))
    assert Interval.percent(right, count, folds) == pytest.approx([100 * e for e in interval])
