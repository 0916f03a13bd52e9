"""The metric by which epochs and settings are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import agnn
from agnn.choosing import Tuned
from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import Ridge, Task
from agnn.metrics import MEASURES, Measure
from agnn.metrics._measures import METRICS
from agnn.networks import GCN, validation_scores
from agnn.runs import Training


def with_rare_class(toy: NodeData, classes: int = 3) -> NodeData:
    """The toy with a class of 4 nodes; the first two classes are one where `classes` is 2."""
    labels = np.where(toy.labels == 2, 0, toy.labels)
    labels = labels if classes == 3 else np.zeros_like(labels)
    labels[[10, 40, 70, 100]] = classes - 1
    return NodeData.build(
        name="rare", features=toy.features, labels=labels, edges=toy.edges,
        class_names=("a", "b", "c")[:classes],
    )  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["gcn", "agnn", "separated"])
def test_the_kept_epoch_has_the_best_value_on_validation_nodes(metric, method, toy):
    changes = {"epochs": 12} | ({"layers": 2} if method != "gcn" else {})
    run = agnn.evaluate(method, toy, replicas=2, changes=changes, metric=metric)
    assert run.metric == metric
    watched = run.history.watched_accuracy
    kept = [watched[epoch - 1, r] for r, epoch in enumerate(run.selected_epochs)]
    assert torch.equal(torch.stack(kept), watched.max(0).values)
    scores = validation_scores(run.scores, toy, run.splits, "", metric)
    factor = 1.0 if MEASURES[metric].is_loss else 100.0
    assert scores == pytest.approx([factor * float(value) for value in kept], abs=1e-3)


def test_without_a_metric_every_method_keeps_its_own_rule(toy):
    by_rule = agnn.evaluate("gcn", toy, changes={"epochs": 30})
    task = Task(toy, by_rule.splits, by_rule.seeds)
    assert torch.equal(by_rule.scores, by_rule.method.run(task).scores)


def test_the_metric_is_saved_with_the_run(toy, tmp_path: Path):
    run = agnn.evaluate("gcn", toy, changes={"epochs": 3}, metric="f1")
    run.save(tmp_path / "run")
    assert agnn.load_run(tmp_path / "run").metric == "f1"
    assert agnn.NodeClassifier.load(tmp_path / "run").metric == "f1"


def test_ridge_chooses_its_view_by_the_metric(toy):
    split = toy.split("fixed")
    by_metric = {
        metric: validation_scores(
            Ridge().run(Task(toy, (split,), (0,), metric=metric)).scores, toy, [split], "", metric
        )[0]
        for metric in METRICS
    }
    for metric, best in by_metric.items():
        for views in ("X", "AX", "A2X", "X-AX"):
            for penalty in Ridge().penalties:
                alone = Ridge(views=(views,), penalties=(penalty,))
                scores = alone.run(Task(toy, (split,), (0,))).scores
                assert best >= validation_scores(scores, toy, [split], "", metric)[0] - 1e-6


def test_tuning_and_searching_compare_by_the_metric(toy, tmp_path: Path, monkeypatch):
    asked = []
    real = Measure.score

    def spied(measure: Measure, *given: Any) -> float:
        asked.append(measure.title)
        return real(measure, *given)

    monkeypatch.setattr(Measure, "score", spied)
    base = GCN(epochs=2)
    monkeypatch.setattr(GCN, "grid", {"hidden": (4, 8)})
    Training(data=toy, method=Tuned(base), split="fixed", metric="log_loss").run()
    file = tmp_path / "search.sqlite"
    searching = Training(data=toy, method=base, search=2, search_file=file, metric="log_loss")
    searching.plan().choose()
    assert asked == ["log loss"] * 4


@pytest.mark.parametrize(("classes", "better"), [(2, "auc"), (3, "balanced_accuracy")])
def test_a_rare_class_is_named_with_the_better_metric(classes, better, toy):
    data = with_rare_class(toy, classes)
    run = agnn.evaluate("majority", data, split="stratified")
    (words,) = [each for each in run.warnings if "says little" in each]
    assert f"Class '{'abc'[classes - 1]}' has 3.3 %" in words
    assert f"--metric {better}" in words
    by_it = agnn.evaluate("majority", data, split="stratified", metric=better)
    assert not [each for each in by_it.warnings if "says little" in each]


def test_classes_of_usual_size_are_not_called_rare(toy, cora):
    for data in (toy, cora):
        run = agnn.evaluate("majority", data)
        assert not [each for each in run.warnings if "says little" in each]


def test_an_unknown_metric_is_refused_with_the_nearest_name(toy):
    with pytest.raises(InputError, match="unknown metric 'acuracy'; did you mean 'accuracy'"):
        agnn.evaluate("gcn", toy, metric="acuracy")


@pytest.mark.parametrize("part", ["validation", "test"])
def test_auc_is_refused_where_a_part_has_one_class(part, toy):
    zero = np.flatnonzero(toy.labels == 0)
    rest = np.setdiff1d(np.arange(toy.nodes), zero)
    parts = {"validation": rest[20:40], "test": rest[40:]} | {part: zero}
    split = Split("odd", rest[:20], **parts)
    with pytest.raises(InputError, match=f"all {zero.size} {part} nodes .* are of class 'red'"):
        agnn.evaluate("gcn", toy, split, metric="auc")
