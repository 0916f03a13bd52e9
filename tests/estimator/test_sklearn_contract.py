"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from agnn import InputError, NodeClassifier, NodeData
from agnn.networks import AGNN, GCN

FAST = {"epochs": 60, "learning_rate": 0.1}
QUICK = NodeClassifier("gcn", parameters=FAST, replicas=1, split="stratified")
EXCEPTIONS = {
    "check_classifiers_classes": "it has a class called -1, and here -1 is a node without a label",
}


@parametrize_with_checks([QUICK], expected_failed_checks=lambda _: EXCEPTIONS)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_constructor_stores_what_it_is_given_and_nothing_else() -> None:
    given = {
        "parameters": {"layers": 3, "window": 2},
        "class_weight": "balanced",
        "split": "uniform",
    }
    made = NodeClassifier("agnn", **given)
    assert {name: getattr(made, name) for name in given} == given
    assert vars(clone(made)) == vars(made)
    assert set(vars(made)) == set(made.get_params(deep=False))


def test_the_arguments_fit_on_a_screen() -> None:
    assert len(NodeClassifier().get_params()) <= 12
    made = NodeClassifier("gcn", parameters={"epochs": 60})
    assert repr(made) == "NodeClassifier(method='gcn', parameters={'epochs': 60})"
    assert made.get_params()["method__epochs"] == 60


@pytest.mark.parametrize("method", [None, "agnn", AGNN(hidden=8)])
def test_a_nested_name_sets_one_hyper_parameter_of_any_method(method: Any) -> None:
    given = {"epochs": 60}
    made = NodeClassifier(method, parameters=given)
    other = clone(made).set_params(method__hidden=32, replicas=3)
    assert other.parameters == {"epochs": 60, "hidden": 32}
    assert other.replicas == 3
    assert made.parameters is given
    assert made.set_params(method__epochs=5).parameters == {"epochs": 5}
    assert given == {"epochs": 60}, "the caller's mapping stays as it is"
    assert made.set_params(method="gcn", parameters=None, method__hidden=4).parameters == {
        "hidden": 4
    }
    with pytest.raises(ValueError, match="Invalid parameter 'hidden' for estimator"):
        made.set_params(hidden=32)


def test_a_fitted_classifier_can_be_pickled(toy: NodeData) -> None:
    model = NodeClassifier(GCN(epochs=3), replicas=1).fit(toy)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own)
    assert again.method == model.method
    assert (again.predict_proba(toy) == model.predict_proba(toy)).all()


@pytest.mark.parametrize("method", [None, "gcn", GCN()])
def test_a_grid_search_over_node_indices_sees_only_the_labels_of_its_folds(
    method: Any, toy: NodeData
) -> None:
    nodes = np.arange(toy.nodes)
    base = NodeClassifier(method, replicas=1, split="stratified", graph=toy)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(base, {"method__epochs": [1, 60]}, cv=folds, error_score="raise")
    search.fit(nodes, toy.labels)
    assert search.best_params_ == {"method__epochs": 60}
    assert search.best_estimator_.run_.method.settings["epochs"] == 60
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
