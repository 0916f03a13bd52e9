"""What `repr` and a notebook show of data, runs, predictions and decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import agnn
from agnn.data import NodeData
from agnn.runs import Run


@pytest.fixture
def run(toy: NodeData) -> Run:
    return agnn.evaluate("gcn", toy, "cross-fit", replicas=3, changes={"epochs": 20})


def _half_labelled(data: NodeData) -> NodeData:
    labels = data.labels.copy()
    labels[::2] = -1
    return replace(data, labels=labels, splits={})


def test_data_say_their_size_and_their_classes(toy: NodeData) -> None:
    facts = f"{toy.nodes} nodes, {toy.edge_count} edges, 30 features, 3 classes"
    assert repr(toy) == f"NodeData(toy: {facts}, {toy.labelled.size} labelled)"
    html = toy._repr_html_()
    for label, name in enumerate(toy.class_names):
        count = int((toy.labels == label).sum())
        assert f"<td>{name}</td><td>{count}</td>" in html


def test_names_in_data_are_text_and_many_classes_are_counted(toy: NodeData) -> None:
    hostile = replace(toy, name="<b>", class_names=("<i>", *map(str, range(40))))
    html = hostile._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "21 further classes" in html


def test_predictions_show_their_first_rows(run: Run) -> None:
    html = run.predict()._repr_html_()
    assert f"{run.data.nodes} predictions, the first 10" in html
    assert html.count("<tr>") == 11
    assert "probability_of_red" in html
    few = run.predict([run.data.node_ids[k] for k in (3, 1)])
    assert "2 predictions<" in few._repr_html_()


def test_a_long_number_that_is_an_id_has_no_commas(run: Run) -> None:
    shown = replace(run.predict([run.data.node_ids[0]]), ids=(1234567,))._repr_html_()
    assert "<bdi>1234567</bdi>" in shown


def test_rows_of_predictions_keep_all_columns(run: Run) -> None:
    whole = run.predict_set(0.9)
    table = whole.apply(whole.predictions)
    assert table.at([5, 2]).to_dict() == {
        name: [values[5], values[2]] for name, values in table.to_dict().items()
    }


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda run: run.predict_set(0.9), "set_size"),
        (lambda run: run.predict_novelty(), "novelty_p_value"),
        (lambda run: agnn.decisions.suggest(_half_labelled(run.data), 3), "What to label next"),
        (lambda run: agnn.decisions.audit(run), "Suspicious labels"),
        (lambda run: run, "% of the nodes right"),
        (lambda run: run.explain(run.data.node_ids[20]), " predicts "),
    ],
)
def test_decisions_runs_and_explanations_are_pages_in_a_notebook(
    run: Run, make: Any, words: str
) -> None:
    assert words in make(run)._repr_html_()


def test_a_notebook_shows_the_warnings_of_a_run(run: Run) -> None:
    html = run._repr_html_()
    assert html.count("<li>") == len(run.warnings)


def test_a_fitted_classifier_shows_its_result_below_its_parameters(toy: NodeData) -> None:
    model = agnn.NodeClassifier("gcn", parameters={"epochs": 3}, replicas=1, split="stratified")
    assert "of the nodes right" not in model._repr_mimebundle_()["text/html"]
    model.fit(toy, verbose=False)
    html = model._repr_mimebundle_()["text/html"]
    assert "NodeClassifier" in html
    assert model.run_.result.headline.split(";")[0] in html
