"""`NodeClassifier.explain`: the run's own reasons, by the user's ids, made once and shown."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from agnn import NodeClassifier
from agnn.data import NodeData
from agnn.errors import AgnnError, InputError
from agnn.explanation import explain
from agnn.runs import load_run


@pytest.fixture(scope="module")
def model(toy: NodeData) -> NodeClassifier:
    return NodeClassifier(parameters={"epochs": 20}, replicas=2).fit(toy)


def test_it_explains_as_the_saved_run_does(model, tmp_path):
    model.save(tmp_path / "run")
    opened = load_run(tmp_path / "run")
    found, expected = model.explain("60", limit=4).to_dict(), explain(opened, 60, limit=4).to_dict()
    assert found.pop("words") == expected.pop("words")
    assert found["neighbours"][0]["id"] == expected["neighbours"][0]["id"]
    assert found["confidence"] == pytest.approx(model.predict_proba()[60].max())
    assert found["prediction"] == model.predict()[60]


def test_it_shows_itself(model):
    part = model.explain("60")._repr_html_()
    assert f"predicts {model.predict()[60]}" in part
    assert "data:image/svg+xml;base64," in part


def test_a_loaded_classifier_explains_too(model, tmp_path):
    model.save(tmp_path / "run")
    loaded = NodeClassifier.load(tmp_path / "run")
    assert loaded.explain("60").in_words() == model.explain("60").in_words()


def test_a_node_of_arrays_goes_by_its_number(toy):
    labels = np.where(np.arange(120) < 80, toy.labels, -1)
    model = NodeClassifier("gcn", parameters={"epochs": 5}, replicas=1)
    model.fit(toy.features.toarray(), labels, edges=toy.edges)
    assert model.explain(7).node == model.explain("7").node == 7


def test_a_new_fit_is_what_is_explained(toy):
    model = NodeClassifier(parameters={"epochs": 2}, replicas=1).fit(toy)
    before = model.explain("60").confidence
    model.set_params(method__epochs=60).fit(toy)
    after = model.explain("60").confidence
    assert after == pytest.approx(model.predict_proba()[60].max())
    assert after != before


def test_a_second_question_prepares_nothing_anew(model):
    assert model.explain("60").node == 60
    graph = model.run_.graph
    model.explain("61")
    assert model.run_.graph is graph


def test_what_can_be_computed_is_not_pickled(model):
    size = len(pickle.dumps(model))
    model.run_.precompute()
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own)
    assert len(pickle.dumps(model)) < size + 1000
    assert again.explain("60").in_words() == model.explain("60").in_words()


def test_a_wrong_id_a_wrong_method_and_no_fit_are_said(model, toy):
    with pytest.raises(InputError, match=r"'toy' has no node '6x'; near it"):
        model.explain("6x")
    with pytest.raises(AgnnError, match=r"DCNN cannot be explained: its features are propagated"):
        NodeClassifier("dcnn", parameters={"epochs": 2}, replicas=1).fit(toy).explain("60")
    with pytest.raises(NotFittedError, match=r"not fitted"):
        NodeClassifier().explain("60")
