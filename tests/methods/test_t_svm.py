"""The transductive SVM: its switches, its balance and its supervised limit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import _t_svm
from agnn.methods._t_svm import TransductiveSVM


def test_switching_pairs_worst_with_worst_and_keeps_the_number_of_positives():
    signs = np.array([1.0, 1, 1, -1, -1, -1, 1])
    margins = np.array([-1.5, -0.2, 2.0, 0.9, -0.4, -2.0, -9.0])
    #          slack    2.5,  1.2, 0.0, 1.9,  0.6,  0.0,  the last is labelled and stays
    free = np.arange(6)
    assert _t_svm._switch(signs, margins, free)
    assert signs.tolist() == [-1, 1, 1, 1, -1, -1, 1]  # 2.5 + 1.9 > 2, but 1.2 + 0.6 < 2
    assert not _t_svm._switch(signs, np.where(np.arange(7) < 6, 3.0, -9.0) * signs, free)


def test_the_weights_of_the_two_signs_are_balanced():
    signs = np.array([1.0, -1, 1, -1, -1, -1])
    weights = _t_svm._weights(signs, np.arange(2, 6), 2.0, 0.6, 1)
    assert weights == pytest.approx([2, 2, 0.2, 0.6, 0.6, 0.6])


def test_unlabelled_rows_that_weigh_nothing_leave_a_plain_svm(toy):
    split = toy.split("fixed")
    x, labels = toy.features.toarray().astype(float), toy.labels[split.train]
    c = 1.0 / (x**2).sum(1).mean()
    found = np.log(TransductiveSVM(unlabelled_weight=1e-9).scores(toy, split))
    # liblinear punishes the bias as one more weight: a column of ones
    ones = np.hstack([x, np.ones((toy.nodes, 1))])
    machines = [SVC(kernel="linear", C=c).fit(ones[split.train], labels == k) for k in range(3)]
    margins = np.stack([ones @ m.coef_[0] for m in machines], 1)
    assert np.corrcoef((found - found[:, :1])[:, 1], (margins - margins[:, :1])[:, 1])[0, 1] > 0.9


def test_two_clusters_are_divided_between_them_though_the_labels_divide_elsewhere():
    """The first feature parts the labels, the second parts the clusters of all rows."""
    source = np.random.default_rng(0)
    x = source.normal(0.0, (1.0, 0.3), size=(200, 2))
    side = np.arange(200) % 2
    x[:, 1] += np.where(side == 1, 1.5, -1.5)
    x[0], x[1] = (-1.5, -0.3), (1.5, 0.3)  # the labelled two lie more apart in the first
    data = NodeData.build(
        name="clusters", features=x, labels=side, edges=np.zeros((2, 0), int),
        class_names=("low", "high"),
    )  # fmt: skip
    split = Split("two", [0, 1], [], [*range(2, 200)])
    answers = TransductiveSVM(penalty_inverse=10.0).scores(data, split).argmax(1)
    assert (answers == side)[2:].mean() > 0.97
    plain = (
        TransductiveSVM(penalty_inverse=10.0, unlabelled_weight=1e-9).scores(data, split).argmax(1)
    )
    assert (plain == side)[2:].mean() < 0.97


@pytest.mark.parametrize("name", ["penalty_inverse", "unlabelled_weight"])
def test_a_weight_of_zero_is_refused(name):
    with pytest.raises(InputError, match=f"`{name}` must be above 0; got 0"):
        TransductiveSVM(**{name: 0.0})
