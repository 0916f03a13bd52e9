"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from agnn import InputError, NodeClassifier, NodeData

QUICK = NodeClassifier("gcn", replicas=1, epochs=60, learning_rate=0.1, split="stratified")
EXCEPTIONS = {
    "check_classifiers_classes": "it has a class called -1, and here -1 is a node without a label",
}


@parametrize_with_checks([QUICK], expected_failed_checks=lambda _: EXCEPTIONS)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_constructor_stores_what_it_is_given_and_nothing_else() -> None:
    given = {
        "layers": 3,
        "window": 2,
        "class_weight": "balanced",
        "split": "uniform",
    }
    made = NodeClassifier("agnn", **given)
    assert {name: getattr(made, name) for name in given} == given
    assert vars(clone(made)) == vars(made)
    assert set(vars(made)) == set(made.get_params())


def test_a_grid_search_over_node_indices_sees_only_the_labels_of_its_folds(toy: NodeData) -> None:
    nodes = np.arange(toy.nodes)
    base = NodeClassifier("gcn", replicas=1, split="stratified", graph=toy)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(base, {"epochs": [1, 60]}, cv=folds, error_score="raise")
    search.fit(nodes, toy.labels)
    assert search.best_params_ == {"epochs": 60}
    train, test = next(folds.split(nodes, toy.labels))
    hidden = toy.labels.copy()
    hidden[test] = -1
    one = clone(base).fit(train, toy.labels[train])
    assert (one.run_.data.labels == hidden).all()
    (score, *_) = cross_val_score(base, nodes, toy.labels, cv=folds)
    assert score == (one.predict(test) == toy.labels[test]).mean()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([0.5, 1.0], "`X` holds node indices"),
        ([[0, 1]], "`X` holds node indices"),
        ([0, 120], "`X` names node 120; the graph has 0 to 119"),
        ([0, -1], "`X` names node -1"),
        ([0, 1, 2], "`X` names 3 nodes, but `y` has 2 labels"),
    ],
)
def test_indices_that_are_none_are_refused(toy: NodeData, X: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        NodeClassifier("gcn", graph=toy).fit(np.array(X), [0, 1])
