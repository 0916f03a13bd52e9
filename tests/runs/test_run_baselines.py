"""A run that is no better than a cheap baseline says so, wherever its accuracy is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import agnn
from agnn.cli import main
from agnn.cli._record import better_command
from agnn.data import NodeData, Split
from agnn.data.tables import from_pandas
from agnn.methods import LabelPropagation, Majority, Ridge
from agnn.metrics import NodeDifference
from agnn.report import run_facts
from agnn.runs import KnownResults, ResultSummary


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
    majority, features, alone = failed.baselines
    assert (majority.baseline, features.baseline) == ("most_frequent_class", "features")
    assert alone.baseline == "graph"
    assert not majority.difference.is_clear
    warning = failed.warnings[0]
    assert warning.startswith("Not clearly better than always predicting the most frequent class")
    assert f"{majority.accuracy:.1f} %" in warning
    assert "has learned little or nothing" in warning
    assert warning.endswith("try another method: `separated`, `ridge`, `boosting` or `auto`.")
    assert "`ridge`" not in replace(majority, method="ridge").warning
    for baseline in (majority, alone):  # what "auto" has tried is not advised again
        chosen = replace(baseline, is_chosen=True).warning
        assert "`auto` has tried the other methods already" in chosen
        assert not any(f"`{name}`" in chosen for name in ("separated", "ridge", "boosting", "sgc"))


def easy_features() -> NodeData:
    """Features that tell the class, and edges that do not."""
    told = graph(is_learnable=False)
    features = 10.0 * np.eye(2)[told.labels]
    return NodeData.build(
        name="told", features=features, labels=told.labels, edges=told.edges,
        class_names=told.class_names, splits=told.splits,
    )  # fmt: skip


def test_a_model_that_is_worse_is_called_worse_first_and_the_better_one_is_named():
    run = agnn.evaluate("gcn", easy_features(), replicas=2, changes={"epochs": 5})
    (features,) = (each for each in run.baselines if each.baseline == "features")
    assert features.difference.is_worse
    assert run.warnings[0].startswith("Clearly worse than the features without the graph")
    assert run.warnings[0].endswith("Use that instead: `--method ridge`.")
    given = ["train", "--nodes", "my nodes.csv", "--method=gcn", "--epochs", "5", "--tuned",
             "--split", "fixed", "--out", "runs/a"]  # fmt: skip
    command = better_command(run, given, Path("runs/a"))
    assert command == (
        "agnn train --nodes 'my nodes.csv' --split fixed --method ridge --out runs/a-ridge"
    )
    result = ResultSummary.of(run, "runs/a", command)
    assert result.headline.startswith(f"WORSE than features alone ({features.score}): ")
    assert result.lines[1] == f"better: {command}"
    assert run.result.lines[1] == "better: --method ridge"
    assert better_command(run, [], None) is None
    # Ridge regression with the graph may be worse than without: its own name is no advice.
    ridge = replace(features, method="ridge")
    assert ridge.better_method is None
    assert "`--method ridge`" not in ridge.warning
    assert "`ridge`" not in ridge.warning


def test_a_model_that_is_better_names_no_other_command():
    run = agnn.evaluate(Ridge(views=("X",)), easy_features())
    assert all(not each.difference.is_worse for each in run.baselines)
    assert better_command(run, ["train"], None) is None


def test_a_ranking_that_says_something_is_not_called_learned_nothing():
    """Probabilities that rank all nodes correctly and predict one class for all."""
    data = graph(is_learnable=False)
    run = agnn.evaluate("gcn", data, replicas=1, changes={"epochs": 1})
    chances = 0.1 + 0.3 * data.labels
    scores = torch.tensor(np.stack([1 - chances, chances], 1))[None]
    ranked = replace(run, known=KnownResults(scores))
    words = next(each for each in ranked.warnings if "most frequent class" in each)
    assert "learned little" not in words
    assert "It predicts 'no' for 100 % of the test nodes, but its ranking is informative" in words
    assert "(AUC 100.0 %)" in words
    assert "`--class-weight balanced`" in words
    weighted = replace(ranked, class_weight="balanced")
    assert not any("--class-weight" in each for each in weighted.warnings)


def test_a_model_that_learned_has_no_such_warning():
    run = agnn.evaluate("agnn", graph(is_learnable=True), replicas=2, changes={"epochs": 60})
    assert run.baselines[0].difference.is_clear
    assert not any("most frequent class" in words for words in run.warnings)


def test_a_model_without_a_mistake_is_not_told_to_try_another_method():
    run = agnn.evaluate("multilayer_perceptron", easy_features(), replicas=2)
    (features,) = (each for each in run.baselines if each.baseline == "features")
    assert run.accuracy.mean == features.accuracy == 100.0
    assert features.warning.endswith("better than this one; a simple one may do as well.")
    # One mistake, and there is something to gain.
    assert replace(features, value=99.9).warning.endswith(
        "`separated`, `ridge`, `boosting` or `auto`."
    )


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


def test_the_most_frequent_class_of_cross_fitted_replicas_is_that_of_all_their_folds():
    """In folds of one node the class of that node would be right every time."""
    data = replace(graph(is_learnable=False), splits={})
    few = replace(data, labels=np.where(np.arange(300) < 20, data.labels, -1))
    run = agnn.evaluate(Ridge(), few, "20-fold-cross-fit", seeds=(0, 1))
    share = np.bincount(few.labels[:20]).max() / 20
    assert run.baselines[0].accuracy == pytest.approx(100 * share)


def test_the_features_alone_are_ridge_regression_without_the_graph(failed):
    rival = agnn.evaluate(Ridge(views=("X",)), failed.data, seeds=(0, 1))
    assert failed.baselines[1].accuracy == pytest.approx(rival.accuracy.mean)
    expected = NodeDifference.between(
        "accuracy", failed.scores, rival.scores, failed.data, failed.splits
    )
    assert failed.baselines[1].difference == expected
    assert [each.baseline for each in rival.baselines] == ["most_frequent_class", "graph"]


def test_a_network_is_compared_with_the_graph_alone():
    """One column of noise says nothing about communities, and label propagation finds them."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 3, 300)
    pairs = draw.integers(0, 300, (2, 6000))
    pairs = pairs[:, (labels[pairs[0]] == labels[pairs[1]]) | (draw.random(6000) < 0.05)]
    groups = [f"g{label}" for label in labels]
    nodes = pd.DataFrame({"id": range(300), "group": groups, "noise": draw.normal(size=300)})
    edges = pd.DataFrame({"source": pairs[0], "target": pairs[1]})
    data = from_pandas(nodes, edges, label="group")
    run = agnn.evaluate("gcn", data, replicas=3, changes={"epochs": 30})
    rival = agnn.evaluate(LabelPropagation(max_steps=30), data, replicas=3)
    found = next(each for each in run.baselines if each.baseline == "graph")
    assert rival.accuracy.mean > 95.0 > run.accuracy.mean
    assert found.accuracy == pytest.approx(rival.accuracy.mean)
    assert found.difference == NodeDifference.between(
        "accuracy", run.scores, rival.scores, data, run.splits, run.passes
    )
    words = next(each for each in run.warnings if "the graph without the features" in each)
    assert words.startswith("Clearly worse than")
    assert words.endswith("Use that instead: `--method label_propagation`.")
    assert "graph" not in [each.baseline for each in rival.baselines]


def rare(seed: int = 0) -> NodeData:
    """400 nodes, 4 % of them of the second class, which a feature ranks but seldom decides."""
    draw = np.random.default_rng(seed)
    labels = (np.arange(400) % 25 == 0).astype(int)
    pairs = draw.integers(0, 400, (2, 400))
    order = draw.permutation(400)
    split = Split("fixed", order[:200], order[200:280], order[280:])
    return NodeData.build(
        name="rare", features=draw.normal(size=(400, 2)) + 1.2 * labels[:, None], labels=labels,
        edges=pairs[:, pairs[0] != pairs[1]], class_names=("no", "yes"), splits={"fixed": split},
    )  # fmt: skip


def test_a_model_of_a_rare_class_is_judged_by_what_accuracy_hides():
    data = rare()
    run = agnn.evaluate("multilayer_perceptron", data, replicas=1)
    majority = run.baselines[0]
    assert run.accuracy.mean == pytest.approx(majority.accuracy, abs=2.0)
    assert (majority.metric, majority.value) == ("auc", 50.0)
    assert majority.difference.mean == pytest.approx(run.measure("auc").mean - 50.0, abs=0.01)
    assert majority.difference.is_clear
    assert not any("has learned little or nothing" in words for words in run.warnings)


def test_validation_nodes_without_the_rare_class_are_no_obstacle():
    data = rare()
    common, yes = (np.flatnonzero(data.labels == label) for label in (0, 1))
    parts = ([*common[:100], *yes[:8]], common[100:150], [*common[150:], *yes[8:]])
    run = agnn.evaluate("majority", data, Split("none of them", *parts))
    assert [each.metric for each in run.baselines] == ["auc"] * 3
    nowhere = Split("nor here", parts[0], parts[1], common[150:])
    run = agnn.evaluate("majority", data, nowhere)
    assert [each.metric for each in run.baselines] == ["accuracy"] * 3


def test_the_metric_of_the_run_is_that_of_the_comparison():
    data = graph(is_learnable=False)
    run = agnn.evaluate("gcn", data, replicas=1, changes={"epochs": 10}, metric="log_loss")
    majority = run.baselines[0]
    test = data.labels[run.split.test]
    shares = np.bincount(test) / test.size
    assert majority.metric == "log_loss"
    assert majority.value == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-6)
    assert majority.difference.mean == pytest.approx(
        run.measure("log_loss").mean - majority.value, abs=1e-5
    )
    assert not majority.difference.is_clear
    assert "log loss 0." in majority.warning


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
