"""Audits: labels that replicas which were not trained on them contradict, with reasons."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from agnn.data import NodeData, Split, with_labels
from agnn.decisions import audit
from agnn.decisions._audit import confident_classes
from agnn.errors import InputError
from agnn.methods import Ridge
from agnn.metrics import Summary
from agnn.report import audit_page
from agnn.runs import KnownResults, Run, evaluate


def run_with(data: NodeData, scores: np.ndarray, splits: list[Split]) -> Run:
    """A run whose replicas gave these scores [R, n, c]."""
    return Run(
        data=data,
        method=Ridge(),
        splits=tuple(splits),
        seeds=tuple(range(len(splits))),
        accuracy=Summary([50.0] * len(splits)),
        known=KnownResults(scores=torch.from_numpy(scores), temperature=1.0),
    )


@pytest.fixture
def halves(tiny: NodeData) -> Run:
    """Two replicas on seven nodes: each tests what the other was trained on; node 5 is unlabelled.

    The labels are 0, 1, 0, 1, 0, -1, 1. Where a replica has the label, it predicts that, surely.
    """
    first = Split("first", train=[0, 1, 2], validation=[], test=[3, 4, 6])
    second = Split("second", train=[3, 4, 6], validation=[], test=[0, 1, 2])
    of_odd = np.full((2, 7), 0.5)
    of_odd[0, [0, 1, 2]] = [0.0, 1.0, 0.0]
    of_odd[1, [3, 4, 6]] = [1.0, 0.0, 1.0]
    of_odd[0, [3, 4, 6]] = [0.3, 0.2, 0.9]  # 3 is odd: contradicted
    of_odd[1, [0, 1, 2]] = [0.9, 0.8, 0.4]  # 0 is even: contradicted, and more so
    return run_with(tiny, np.stack([1 - of_odd, of_odd], axis=2), [first, second])


def test_a_label_is_judged_by_replicas_that_were_not_trained_on_it(halves):
    found = audit(halves)
    assert [label.node for label in found.suspicious] == [0, 3]
    assert [label.label_probability for label in found.suspicious] == pytest.approx([0.1, 0.3])
    assert [label.probability for label in found.suspicious] == pytest.approx([0.9, 0.7])
    assert [(label.label, label.prediction) for label in found.suspicious] == [
        ("even", "odd"),
        ("odd", "even"),
    ]
    assert (found.checked, found.contradicted) == (6, 2)


def test_reasons_count_the_labels_of_neighbours_without_the_node_itself(halves):
    first, second = audit(halves).suspicious
    # 0 has the neighbours 1 (odd), 4 (even) and 6 (odd); 3 has none.
    counts = (first.neighbours, first.neighbours_with_label, first.neighbours_with_prediction)
    assert counts == (3, 1, 2)
    assert first.reason.startswith("Neighbours: 2 of 3 odd, 1 even. Features: ")
    assert second.reason.startswith("Neighbours: none has a label.")


def test_what_the_features_say_does_not_depend_on_the_label(halves):
    before = audit(halves).suspicious[0]
    assert (before.node, before.label) == (0, "even")
    scores = Ridge(views=("X",)).scores(halves.data, halves.splits[1])
    assert before.features_prediction == halves.data.class_names[scores[0].argmax()]
    changed = replace(halves, data=with_labels(halves.data, {0: 1}))
    scores = Ridge(views=("X",)).scores(changed.data, changed.splits[1])
    assert before.features_prediction == halves.data.class_names[scores[0].argmax()]


def test_features_are_left_out_where_there_are_none(halves):
    bare = NodeData.build(
        name="bare",
        features=np.zeros((7, 0)),
        labels=halves.data.labels,
        edges=halves.data.edges,
        class_names=halves.data.class_names,
    )
    found = audit(replace(halves, data=bare)).suspicious[0]
    assert found.features_prediction is None
    assert found.reason == "Neighbours: 2 of 3 odd, 1 even."


def test_confident_counts_follow_their_definition():
    labels = np.array([0, 0, 1, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.45, 0.55], [0.8, 0.2]])
    # The means of the own class: 0.6 for class 0, (0.8 + 0.55 + 0.2) / 3 for class 1.
    assert confident_classes(labels, probabilities).tolist() == [0, 1, 1, 1, 0]
    unsure = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    assert confident_classes(np.array([0, 0, 1]), unsure).tolist() == [-1, 0, 1]


def test_a_class_without_labels_is_never_confident():
    probabilities = np.array([[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])
    assert confident_classes(np.array([0, 1]), probabilities).tolist() == [0, 1]


def test_the_estimate_is_the_number_of_labels_with_another_confident_class(halves):
    found = audit(halves)
    nodes = np.array([0, 1, 2, 3, 4, 6])
    labels = halves.data.labels[nodes]
    probabilities = halves.predict_out_of_fold().probabilities
    confident = confident_classes(labels, probabilities)
    wrong = (confident >= 0) & (confident != labels)
    assert found.likely_wrong == wrong.sum() > 0
    assert found.counts.sum() == (confident >= 0).sum()
    listed = {label.node: label.is_confident for label in found.suspicious}
    assert {node for node, is_confident in listed.items() if is_confident} == set(nodes[wrong])


def test_a_label_without_any_confident_class_is_not_likely_wrong(toy):
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0])
    probabilities = run.predict_out_of_fold().probabilities
    confident = dict(zip(toy.labelled, confident_classes(toy.labels, probabilities), strict=True))
    found = audit(run).suspicious
    assert {confident[label.node] == -1 for label in found} == {True, False}
    for label in found:
        others = {k for k, name in enumerate(toy.class_names) if name != label.label}
        assert label.is_confident == (confident[label.node] in others)


def test_counts_and_noise_are_those_of_cleanlab(toy):
    count = pytest.importorskip("cleanlab.count")
    run = evaluate("ridge", toy, "5-fold-cross-fit", [0])
    found = audit(run)
    probabilities = run.predict_out_of_fold().probabilities
    labels = toy.labels[toy.labelled]
    joint = count.compute_confident_joint(labels, probabilities, calibrate=False)
    # cleanlab adds nodes to an empty diagonal; there is none here.
    assert (np.diag(found.counts) > 0).all()
    assert found.counts.tolist() == joint.tolist()
    assert found.likely_wrong == joint.sum() - np.trace(joint)
    assert found.noise is not None
    assert found.noise.sum(0) == pytest.approx(np.ones(toy.classes))
    calibrated = count.compute_confident_joint(labels, probabilities)
    assert found.noise == pytest.approx(calibrated / calibrated.sum(0))


def test_without_cleanlab_there_is_no_noise_matrix_and_the_audit_says_so(halves, monkeypatch):
    monkeypatch.setattr("agnn.decisions._audit.find_spec", lambda _: None)
    found = audit(halves)
    assert found.noise is None
    assert "pip install 'agnn[decisions]'" in found.sentences[-1]
    assert found.to_dict()["noise"] is None
    assert "mistaken for what" not in audit_page(found)


def test_flipped_labels_come_first_with_their_true_class():
    source = np.random.default_rng(0)
    labels = np.arange(90) % 3
    features = np.eye(3)[labels] + 0.2 * source.random((90, 3))
    edges = source.integers(90, size=(2, 600))
    edges = edges[:, labels[edges[0]] == labels[edges[1]]]
    data = NodeData.build(
        name="clear", features=features, labels=labels, edges=edges, class_names=("a", "b", "c")
    )
    flipped = {node: (int(labels[node]) + 1) % 3 for node in range(5, 90, 14)}
    wrong = with_labels(data, flipped)
    found = audit(evaluate(Ridge(views=("X",)), wrong, "10-fold-cross-fit", range(2)))
    assert {label.node for label in found.suspicious[: len(flipped)]} == flipped.keys()
    true = [data.class_names[labels[label.node]] for label in found.suspicious[: len(flipped)]]
    assert [label.prediction for label in found.suspicious[: len(flipped)]] == true
    assert len(flipped) // 2 <= found.likely_wrong <= len(flipped)
    assert found.checked == 90


def test_only_tested_labels_are_checked_without_cross_fitting(toy):
    found = audit(evaluate("ridge", toy, "fixed", [0]))
    assert found.checked == toy.split("fixed").test.size
    assert {label.node for label in found.suspicious} <= set(toy.split("fixed").test.tolist())
    words = " ".join(found.sentences)
    assert "50 of 120 labels were checked" in words
    assert "--split cross-fit" in words


def test_the_table_has_a_row_per_label_and_csv_that_retraining_reads(halves):
    found = audit(halves)
    rows = list(csv.DictReader(io.StringIO(found.table.csv())))
    assert [list(row.items())[:2] for row in rows] == [
        [("id", "0"), ("label", "even")],
        [("id", "3"), ("label", "odd")],
    ]
    assert [float(row["probability_of_label"]) for row in rows] == pytest.approx([0.1, 0.3])
    assert rows[0]["reason"] == found.suspicious[0].reason
    assert found.first(1).contradicted == 2
    assert len(found.first(1).table.rows) == 1


def test_a_list_of_none_is_refused(halves):
    with pytest.raises(InputError, match="must be at least 1; got 0"):
        audit(halves).first(0)


def test_the_page_shows_names_as_text(halves):
    data = NodeData.build(
        name="<b>own</b>",
        features=halves.data.features,
        labels=halves.data.labels,
        edges=halves.data.edges,
        class_names=("<i>", "odd"),
        texts={"title": [f"<u>{k}" for k in range(7)]},
    )
    page = audit_page(audit(replace(halves, data=data)))
    assert "&lt;u&gt;3" in page
    assert "&lt;b&gt;own" in page
    assert not any(tag in page for tag in ("<u>", "<i>", "<b>", "<script"))
