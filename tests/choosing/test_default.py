"""The default method gives way to another one only where held-out labels clearly prefer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import agnn
from agnn.choosing import Choice, can_challenge, challenge, has_like_neighbours, small_form
from agnn.choosing import _default as module
from agnn.cli import main
from agnn.data import NodeData, Split
from agnn.methods import Method, Task, get_method
from agnn.networks import AGNNPlus
from agnn.runs import Training, prepare

NODES = 120
CLASSES = 3


def graph(*, is_alike: bool, labelled: int = NODES) -> NodeData:
    """Edges within classes only, or between them only; features that say the class, mostly."""
    source = np.random.default_rng(0)
    labels = np.arange(NODES) % CLASSES
    pairs = source.integers(0, NODES, (2, 2000))
    same = labels[pairs[0]] == labels[pairs[1]]
    edges = pairs[:, (same == is_alike) & (pairs[0] != pairs[1])][:, :300]
    features = np.eye(CLASSES)[labels] + source.normal(0, 0.4, (NODES, CLASSES))
    known = labels.copy()
    known[labelled:] = -1
    return NodeData.build(
        name="graph",
        features=features,
        labels=known,
        edges=edges,
        class_names=("a", "b", "c"),
    )


def task_of(data: NodeData) -> Task:
    nodes = np.arange(90)
    split = Split("split", nodes[:60], nodes[60:], np.arange(90, NODES))
    return Task(data, (split,), (0,))


def compare(
    monkeypatch: pytest.MonkeyPatch,
    *by_metric: dict[str, Sequence[float]],
    classes: int = CLASSES,
    class_weight: str | None = None,
) -> Choice:
    """The choice where the methods have these scores on the inner splits, metric by metric."""

    def known_scores(method: Method, task: Task, metrics: Sequence[str]) -> dict[str, list[float]]:
        return {
            metric: list(scores.get(method.name, [0.0] * len(task.splits)))
            for metric, scores in zip(metrics, by_metric, strict=True)
        }

    monkeypatch.setattr(module, "_scores_by_metric", known_scores)
    data = graph(is_alike=False)
    data = replace(data, labels=data.labels % classes, class_names=data.class_names[:classes])
    return challenge(
        get_method("agnn_plus")(),
        lambda name, changes: prepare(name, data, "stratified", changes),
        task_of(data),
        class_weight,
    )


STEADY = [50.0, 51.0, 52.0, 51.0, 50.0]


def ahead(points: float) -> list[float]:
    return [value + points for value in STEADY]


@pytest.mark.parametrize(("points", "winner"), [(2.9, "agnn_plus"), (3.1, "appnp")])
def test_another_method_must_be_three_points_better(monkeypatch, points, winner):
    choice = compare(monkeypatch, {"agnn_plus": STEADY, "appnp": ahead(points)})
    assert choice.method.name == winner
    assert choice.winner.method.name == winner
    # The comparison that decided is the one that is reported.
    assert {tried.method.name for tried in choice.tried[:2]} == {"agnn_plus", "appnp"}
    assert abs(choice.lead.mean) == pytest.approx(points)


def test_a_lead_within_its_standard_error_is_none(monkeypatch):
    uneven = [value + gap for value, gap in zip(STEADY, [20, -10, 20, -10, 0], strict=True)]
    choice = compare(monkeypatch, {"agnn_plus": STEADY, "appnp": uneven})
    assert choice.lead.mean == pytest.approx(-4)
    assert choice.lead_error > 4
    assert choice.method.name == "agnn_plus"
    assert "AGNN+, the default, was kept" in choice.words


@pytest.mark.parametrize(("points", "winner"), [(2.9, "appnp"), (3.1, "ridge")])
def test_a_method_without_a_network_must_also_beat_the_networks(monkeypatch, points, winner):
    scores = {"agnn_plus": STEADY, "appnp": ahead(10), "ridge": ahead(10 + points)}
    choice = compare(monkeypatch, scores)
    assert choice.method.name == winner
    assert choice.words.startswith(f"{choice.method.title} in place of the default, AGNN+: ")


@pytest.mark.parametrize(("points", "winner"), [(2.9, "agnn_plus"), (3.1, "ridge")])
def test_two_classes_that_are_ranked_alike_are_compared_by_accuracy(monkeypatch, points, winner):
    ranked = {"agnn_plus": STEADY, "ridge": ahead(1)}
    decided = {"agnn_plus": STEADY, "ridge": ahead(points)}
    choice = compare(monkeypatch, ranked, decided, classes=2)
    assert (choice.metric, choice.method.name) == ("accuracy", winner)
    assert "% accuracy on labels held out" in choice.words
    assert abs(choice.lead.mean) == pytest.approx(points)
    clear = compare(monkeypatch, {"agnn_plus": STEADY, "appnp": ahead(4)}, decided, classes=2)
    assert (clear.metric, clear.method.name) == ("auc", "appnp")
    weighted = compare(monkeypatch, ranked, decided, classes=2, class_weight="balanced")
    assert weighted.metric == "balanced_accuracy"


def test_a_chosen_method_has_its_own_settings_and_not_those_of_the_trial(monkeypatch):
    choice = compare(monkeypatch, {"agnn_plus": STEADY, "separated": ahead(10)})
    assert choice.method == get_method("separated")()


def test_like_neighbours_are_those_of_many_edges_within_classes():
    assert has_like_neighbours(task_of(graph(is_alike=True)))
    assert not has_like_neighbours(task_of(graph(is_alike=False)))
    few = graph(is_alike=True)
    few = replace(few, edges=few.edges[:, :4], edge_weights=None)
    assert not has_like_neighbours(task_of(few))


def test_few_labels_compare_nothing():
    data = graph(is_alike=False)
    nodes = np.arange(NODES)
    for train, validation, can in ((20, 9, False), (20, 10, True), (40, 1, False)):
        parts = np.split(nodes, [train, train + validation])
        assert can_challenge(Task(data, (Split("few", *parts),), (0,))) == can


def test_labels_of_test_nodes_are_never_read():
    data = graph(is_alike=False)
    other = data.labels.copy()
    other[90:] = (other[90:] + 1) % CLASSES
    changed = replace(data, labels=other)
    results = []
    for each in (data, changed):
        choice = challenge(
            small_form(get_method("agnn_plus")(), 5),
            lambda name, changes, data=each: prepare(name, data, "stratified", changes),
            task_of(each),
        )
        assert has_like_neighbours(task_of(each)) is False
        results.append([(tried.words, tried.scores) for tried in choice.tried])
    assert results[0] == results[1]


def test_unlike_neighbours_end_in_another_method_and_the_run_says_so():
    data = graph(is_alike=False)
    run = agnn.evaluate(None, data, replicas=3)
    assert run.method.name != "agnn_plus"
    assert run.is_cross_fitted
    assert run.choice["default"] == "AGNN+"
    assert run.choice["winner"]["method"] == run.method.name
    assert not run.is_automatic


@pytest.mark.parametrize(
    "given", [{"method": "agnn_plus"}, {"changes": {"layers": 2}}, {"quick": True}]
)
def test_what_is_asked_for_is_not_chosen(given):
    data = graph(is_alike=False)
    assert Training(data=data).plan().leaves_method_open
    assert not Training(data=data, **given).plan().leaves_method_open


def test_like_neighbours_leave_nothing_to_choose():
    assert not Training(data=graph(is_alike=True)).plan().leaves_method_open


def test_a_first_look_is_small_and_says_that_it_is_one():
    run = agnn.evaluate(None, graph(is_alike=True), quick=True)
    assert (run.replicas, run.method.hidden, run.method.epochs) == (3, 32, 150)
    assert run.choice["words"].startswith("This is a first look")


def test_a_large_graph_takes_the_first_look_by_itself(monkeypatch):
    monkeypatch.setattr(AGNNPlus, "step_seconds", lambda *_: 0.6)  # in its smaller form, too
    data = graph(is_alike=False)
    plan = Training(data=data).plan()
    assert (len(plan.seeds), plan.method.hidden, plan.method.epochs) == (3, 32, 150)
    assert not plan.leaves_method_open
    assert plan.first_look.startswith("This is a first look, because a full training would")
    assert "`--replicas 5`" in plan.first_look
    full = Training(data=data, replicas=5).plan()
    assert (len(full.seeds), full.method.epochs, full.first_look) == (5, 1000, None)
    assert full.leaves_method_open


@pytest.mark.parametrize(
    "given",
    [
        {"method": "agnn_plus"},
        {"replicas": 4},
        {"seeds": (0, 1, 2)},
        {"split": "stratified"},
        {"changes": {"layers": 2}},
    ],
)
def test_who_asks_for_something_gets_no_first_look_instead(given, monkeypatch):
    monkeypatch.setattr(AGNNPlus, "step_seconds", lambda *_: 0.6)
    assert Training(data=graph(is_alike=False), **given).plan().first_look is None


def test_a_graph_whose_smaller_form_is_fast_is_trained_in_full(monkeypatch):
    """Slow with ten replicas, fast with five narrow ones."""
    monkeypatch.setattr(
        AGNNPlus, "step_seconds", lambda self, _data, replicas, _: self.hidden * replicas / 500
    )
    plan = Training(data=graph(is_alike=False)).plan()
    assert (len(plan.seeds), plan.method.hidden, plan.first_look) == (5, 32, None)


def test_the_terminal_says_before_the_training_that_it_is_a_first_look(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(AGNNPlus, "step_seconds", lambda *_: 0.6)
    rows = "".join(f"{i},{'ab'[i % 2]},{i % 2}\n" for i in range(30))
    (tmp_path / "nodes.csv").write_text("id,kind,x\n" + rows)
    links = "".join(f"{i},{(i + 2) % 30}\n" for i in range(30))
    (tmp_path / "links.csv").write_text("a,b\n" + links)
    nodes = str(tmp_path / "nodes.csv")
    edges = str(tmp_path / "links.csv")
    assert main(["train", "--nodes", nodes, "--edges", edges, "--label", "kind"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    before, _, after = text.partition("Training 3 replicas")
    assert "This is a first look, because" in before
    assert "This is a first look, because" in after
