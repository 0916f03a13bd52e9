"""A run that is no better than a cheap baseline says so, wherever its accuracy is shown."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import agnn
from agnn.cli.app import main
from agnn.data import NodeData, Split
from agnn.methods import Majority, Ridge
from agnn.metrics import accuracy_difference
from agnn.report import run_facts


def graph(*, is_learnable: bool, seed: int = 0) -> NodeData:
    """300 nodes of two classes, 70 % of one; features say nothing, or half of what there is."""
    draw = np.random.default_rng(seed)
    labels = (draw.random(300) < 0.3).astype(int)
    features = draw.normal(size=(300, 6))
    pairs = draw.integers(0, 300, (2, 1500))
    if is_learnable:
        features[:, 0] += 1.5 * labels
        pairs = pairs[:, labels[pairs[0]] == labels[pairs[1]]]
    pairs = pairs[:, pairs[0] != pairs[1]]
    split = Split("fixed", [*range(100)], [*range(100, 160)], [*range(160, 300)])
    return NodeData.build(
        name="coin", features=features, labels=labels, edges=pairs, class_names=("no", "yes"),
        splits={"fixed": split},
    )  # fmt: skip


@pytest.fixture(scope="module")
def failed() -> agnn.Run:
    return agnn.evaluate("gcn", graph(is_learnable=False), replicas=2, changes={"epochs": 30})


def test_a_model_that_learned_nothing_is_called_one(failed):
    majority, features = failed.baselines
    assert (majority.baseline, features.baseline) == ("most_frequent_class", "features")
    assert not majority.difference.is_clear
    warning = failed.warnings[0]
    assert warning.startswith("Not clearly better than always predicting the most frequent class")
    assert f"{majority.accuracy:.1f} %" in warning
    assert "has learned little or nothing" in warning
    assert warning.endswith("try another method: `separated` or `ridge` or `boosting`.")
    assert "`ridge`" not in replace(majority, method="ridge").warning


def test_a_model_that_learned_has_no_such_warning():
    run = agnn.evaluate("agnn", graph(is_learnable=True), replicas=2, changes={"epochs": 60})
    assert run.baselines[0].difference.is_clear
    assert not any("most frequent class" in words for words in run.warnings)


def test_the_most_frequent_class_is_that_of_the_test_nodes(failed):
    """Training nodes in equal numbers per class would name any of them."""
    test = failed.data.labels[failed.split.test]
    comparison = failed.baselines[0]
    assert comparison.accuracy == pytest.approx(100 * np.bincount(test).max() / test.size)
    assert comparison.difference.mean == pytest.approx(
        failed.accuracy.mean - comparison.accuracy, abs=1e-4
    )


def test_it_is_not_the_most_frequent_class_of_the_training_nodes():
    data = graph(is_learnable=False)
    rare, common = (np.flatnonzero(data.labels == label).tolist() for label in (1, 0))
    split = Split("rare", rare[:40] + common[:10], common[10:20], common[20:] + rare[40:])
    run = agnn.evaluate(Majority(), data.with_split(split), split.name)
    test = data.labels[split.test]
    assert run.accuracy.mean == pytest.approx(100 * (test == 1).mean())
    assert run.baselines[0].accuracy == pytest.approx(100 * (test == 0).mean())


def test_the_features_alone_are_ridge_regression_without_the_graph(failed):
    rival = agnn.evaluate(Ridge(views=("X",)), failed.data, seeds=(0, 1))
    assert failed.baselines[1].accuracy == pytest.approx(rival.accuracy.mean)
    expected = accuracy_difference(failed.scores, rival.scores, failed.data, failed.splits)
    assert failed.baselines[1].difference == expected
    assert [each.baseline for each in rival.baselines] == ["most_frequent_class"]


def test_the_warning_is_in_the_report_the_model_card_and_a_loaded_run(failed, tmp_path):
    assert run_facts(failed).to_dict()["warnings"] == failed.warnings
    failed.save(tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "Not clearly better than always predicting the most frequent class" in card
    assert agnn.load_run(tmp_path / "run").warnings == failed.warnings


def test_the_terminal_and_the_json_name_it(tmp_path, capsys):
    data = graph(is_learnable=False)
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    columns = data.features.toarray()
    rows = [
        f"n{k},{','.join(f'{value:.3f}' for value in columns[k])},{data.class_names[label]}"
        for k, label in enumerate(data.labels)
    ]
    nodes.write_text("\n".join(["id,a,b,c,d,e,f,bought", *rows]), encoding="utf-8")
    pairs = [f"n{a},n{b}" for a, b in data.edges.T]
    edges.write_text("\n".join(["source,target", *pairs]), encoding="utf-8")
    line = ["train", "--nodes", str(nodes), "--edges", str(edges), "--label", "bought", "--quiet",
            "--method", "gcn", "--replicas", "2", "--epochs", "20"]  # fmt: skip
    assert main(line) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Not clearly better than always predicting the most frequent class" in shown
    assert "AUC" in shown
    assert main([*line, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["baselines"][0]["warning"] is not None
    assert 0 <= record["auc"]["mean"] <= 100
