"""The automatic choice of a method: by validation nodes, within a time, never by test nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import agnn
from agnn.choosing import Choice, Tried, _halving, _scores
from agnn.data import NodeData, Split, make_splits
from agnn.errors import InputError
from agnn.methods import Method, Outcome, Task
from agnn.networks import GCN
from agnn.report import render_figures, run_facts, run_figures, run_page
from agnn.runs import Plan, Training

CANDIDATES = _halving.CANDIDATES
FEW = (("majority", {}), ("label_propagation", {}), ("ridge", {}), ("gcn", {"epochs": 20}))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Cheap candidates, few inner splits."""
    monkeypatch.setattr(_halving, "CANDIDATES", FEW)
    monkeypatch.setattr(_halving, "_ROUNDS", (2, 4))
    return


def auto_plan(data: NodeData, split: str | None, seeds: Iterable[int], **options: Any) -> Plan:
    training = Training(data=data, method="auto", split=split, seeds=tuple(seeds), **options)
    return training.plan().choose()


def permuted(data: NodeData, seed: int = 5) -> NodeData:
    """The same data with the labels of the fixed split's test nodes in another order."""
    test = data.split("fixed").test
    labels = data.labels.copy()
    labels[test] = np.random.default_rng(seed).permutation(labels[test])
    return replace(data, labels=labels)


def seen(choice: Choice) -> list[tuple[str, tuple[float, ...]]]:
    return [(each.words, tuple(each.scores)) for each in choice.tried]


def check_blindness(data: NodeData) -> None:
    """Raise unless choice and scores are the same whatever the labels of the test nodes are."""
    first, second = (auto_plan(each, "fixed", (0, 1)).choice for each in (data, permuted(data)))
    assert sorted(seen(first)) == sorted(seen(second))
    assert first.winner.words == second.winner.words


def test_test_nodes_have_no_influence_on_the_choice(toy):
    check_blindness(toy)


def test_a_planted_leak_is_caught(toy, monkeypatch):
    def leaky(_: NodeData, split: Split, seed: int) -> Split:
        return Split(f"leak-{seed}", split.train, split.validation, split.test, seed)

    monkeypatch.setattr(_halving, "without_other_labels", lambda data, _: data)
    monkeypatch.setattr(_halving, "inner_split", leaky)
    with pytest.raises(AssertionError):
        check_blindness(toy)


def test_no_candidate_is_given_the_label_of_a_test_node(toy, monkeypatch):
    given_labels = []
    real = agnn.methods.SplitMethod.run

    def spied(method: object, task: Task) -> Outcome:
        given_labels.append(task.data.labels)
        return real(method, task)

    monkeypatch.setattr(agnn.methods.SplitMethod, "run", spied)
    auto_plan(toy, "fixed", (0,))
    split = toy.split("fixed")
    known = np.concatenate([split.train, split.validation])
    assert given_labels
    for labels in given_labels:
        assert (labels[split.test] == -1).all()
        assert (labels[known] == toy.labels[known]).all()


def test_a_task_that_names_a_test_node_is_refused_while_choosing(toy):
    split = toy.split("fixed")
    with pytest.raises(InputError, match=r"`test` names node .* which has no label"):
        Task(_halving.without_other_labels(toy, split), (split,), (0,))


@given(st.integers(0, 1000))
def test_an_inner_split_divides_the_known_nodes_with_as_many_to_train_on(toy, seed):
    split = toy.split("fixed")
    inner = _halving.inner_split(_halving.without_other_labels(toy, split), split, seed)
    known = np.concatenate([split.train, split.validation])
    parts = np.concatenate(list(inner.parts.values()))
    assert sorted(parts) == sorted(known)
    counts = [np.bincount(toy.labels[each.train], minlength=3).tolist() for each in (split, inner)]
    assert counts[0] == counts[1]
    assert abs(inner.validation.size - inner.test.size) <= 1


def test_the_best_on_the_inner_splits_wins_and_the_lead_is_paired(toy):
    choice = auto_plan(toy, "fixed", (0, 1)).choice
    most = max(len(each.scores) for each in choice.tried)
    finalists = [each for each in choice.tried if len(each.scores) == most]
    assert choice.winner.mean == max(each.mean for each in finalists)
    lead = np.subtract(choice.winner.scores, choice.tried[1].scores[:most])
    assert choice.lead.mean == pytest.approx(lead.mean())
    assert choice.winner.words in choice.words
    assert f"{len(choice.tried)} settings" in choice.words


def test_methods_for_unlike_neighbours_come_early_where_edges_join_classes_by_chance():
    """By the known labels alone: chance is what the shares of the classes give."""
    draw = np.random.default_rng(0)
    labels = (draw.random(400) < 0.2).astype(int)
    random = draw.integers(0, 400, (2, 2000))
    alike = random[:, labels[random[0]] == labels[random[1]]]

    def order(edges: np.ndarray, known: int = 400) -> list[str]:
        data = NodeData.build(
            name="drawn", features=np.eye(400), labels=np.where(np.arange(400) < known, labels, -1),
            edges=edges, class_names=("no", "yes"),
        )  # fmt: skip
        return [name for name, _ in _halving._by_promise(CANDIDATES, data)]

    usual = [name for name, _ in CANDIDATES]
    assert order(alike) == usual
    # 68 % of these edges join nodes of one class, as many as by chance.
    early = order(random)
    assert sorted(early) == sorted(usual)
    assert early[:4] == usual[:4]
    assert set(early[4:10]) == {"multilayer_perceptron", "boosting", "separated", "graphsage"}
    assert order(random, known=20) == usual  # hardly an edge whose ends are both known


def halving_of(
    scores: dict[str, list[float]], *, too_slow: str, monkeypatch, changed: str = ""
) -> Choice:
    """The choice among methods with these scores, one of which has time for the first round."""

    def scored(_: object, candidate: _halving.Tried, count: int) -> None:
        if candidate.method.name != too_slow or not candidate.scores:
            candidate.scores = scores[candidate.method.name][:count]

    monkeypatch.setattr(_halving._Halving, "_try", scored)
    candidates = tuple((name, {"epochs": 5} if name == changed else {}) for name in scores)
    monkeypatch.setattr(_halving, "CANDIDATES", candidates)
    monkeypatch.setattr(_halving, "_VARIATIONS", 0)
    cora = agnn.load_dataset("cora")
    task = Task(cora, (cora.split("fixed"),), (0,))
    return _halving.choose_method(
        lambda name, _: agnn.methods.get_method(name), task, replicas=1, seconds=100.0
    )


def test_a_method_that_more_inner_splits_took_too_long_for_wins_if_it_was_better(monkeypatch):
    scores = {
        "ridge": [60.0, 61.0, 62.0, 63.0],
        "gcn": [59.0, 60.0, 61.0, 62.0],
        "agnn_plus": [90.0, 91.0],
        "majority": [20.0, 20.0, 20.0, 20.0],
    }
    choice = halving_of(scores, too_slow="agnn_plus", monkeypatch=monkeypatch)
    assert choice.winner.method.name == "agnn_plus"
    assert choice.lead.values == (30.0, 30.0)
    # The same inner splits decide, not a lucky beginning of the slow one.
    scores |= {"agnn_plus": [62.0, 60.0], "ridge": [65.0, 64.0, 50.0, 50.0]}
    scores |= {"gcn": [55.0, 54.0, 49.0, 49.0]}
    choice = halving_of(scores, too_slow="agnn_plus", monkeypatch=monkeypatch)
    assert choice.winner.method.name == "ridge"
    # Nor is one with more of them second to a better one.
    assert [each.method.name for each in choice.tried] == ["ridge", "agnn_plus", "gcn", "majority"]
    assert choice.lead.values == (3.0, 4.0)


def test_the_error_of_the_lead_does_not_vanish_with_more_inner_splits(monkeypatch):
    """Inner splits divide the same nodes: Nadeau and Bengio's variance, not that over n."""
    scores = {"ridge": [60.0, 62.0] * 2, "gcn": [50.0, 51.0] * 2, "majority": [20.0] * 4}
    choice = halving_of(scores, too_slow="", monkeypatch=monkeypatch)
    cora = agnn.load_dataset("cora")
    inner = _halving.inner_split(cora, cora.split("fixed"), 0)
    shared = inner.test.size / (inner.train.size + inner.validation.size)
    spread = np.std([10.0, 11.0] * 2, ddof=1)
    assert choice.lead.n == 4
    assert choice.lead_error == pytest.approx(spread * np.sqrt(1 / 4 + shared))
    assert choice.lead_error > 1.5 * choice.lead.standard_error
    assert f"± {choice.lead_error:.2f} behind" in choice.words
    assert choice.to_dict()["lead_over_second"]["standard_error"] == choice.lead_error


def test_ties_go_to_the_candidate_with_fewer_changes(monkeypatch):
    scores = {"ridge": [60.0] * 4, "gcn": [60.0] * 4, "majority": [20.0] * 4}
    for changed, plain in (("ridge", "gcn"), ("gcn", "ridge")):
        choice = halving_of(scores, too_slow="", monkeypatch=monkeypatch, changed=changed)
        assert choice.winner.method.name == plain


def test_a_log_loss_that_is_not_finite_never_wins(toy, monkeypatch):
    def broken(method: Method, task: Task, part: str) -> list[float]:
        scores = _scores.candidate_scores(method, task, part=part)
        return [float("nan") for _ in scores] if method.name == "majority" else scores

    monkeypatch.setattr(_halving, "candidate_scores", broken)
    choice = auto_plan(toy, "fixed", (0,), metric="log_loss").choice
    assert choice.winner.method.name != "majority"


def test_variations_of_the_best_methods_are_tried(toy):
    tried = auto_plan(toy, "fixed", (0,)).choice.tried
    assert any(set(each.changes) - {"epochs"} for each in tried if each.method.name == "gcn")


def test_all_replicas_have_the_split_of_the_first(toy, tmp_path: Path):
    run = agnn.evaluate("auto", toy, "stratified", replicas=3, time_limit=60)
    assert len({id(split) for split in run.splits}) == 1
    # Without randomness, as label propagation, all replicas would be copies.
    assert run.accuracy.n == (3 if run.method.is_random else 1)
    assert "replicas" not in run.choice["words"]
    assert run.choice["winner"]["method"] == run.method.name
    run.save(tmp_path / "run")
    assert agnn.load_run(tmp_path / "run").choice == run.choice
    assert "was chosen from" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    facts = run_facts(run)
    assert run.choice["words"] in run_page(facts, render_figures(run_figures(facts)))


def test_the_metric_decides(toy):
    choice = auto_plan(toy, "fixed", (0,), metric="log_loss").choice
    assert choice.metric == "log_loss"
    assert choice.winner.mean < 0
    assert "log loss" in choice.words


def test_class_weights_leave_only_methods_that_take_them(toy):
    choice = auto_plan(toy, "fixed", (0,), class_weight="balanced").choice
    assert {each.method.name for each in choice.tried} == {"gcn"}


def test_the_classifier_chooses_too(toy):
    model = agnn.NodeClassifier("auto", replicas=2, time_limit="30s").fit(toy)
    assert model.run_.choice["winner"]["method"] == model.run_.method.name
    assert model.predict().shape == (toy.nodes,)


def test_a_nested_estimate_makes_the_whole_choice_on_every_split(toy):
    nested = auto_plan(toy, "stratified", (4,), nested=True).choice.nested
    assert nested["measures"]["accuracy"]["n"] == len(nested["choices"]) == 3
    splits = [make_splits(toy, "stratified", (seed,))[0] for seed in range(3)]
    for choice, split in zip(nested["choices"], splits, strict=True):
        assert choice["replicas_wanted"] == 1
        assert choice["labelled_nodes_used"] == split.train.size + split.validation.size
    assert "of the whole choice on 3 splits" in nested["words"]


def test_a_training_that_would_take_too_long_is_cut_or_left_out(toy, monkeypatch):
    asked = []
    real = GCN.run

    def slow(method: GCN, task: Task) -> Outcome:
        asked.append(method.epochs)
        for epoch in range(1, 6):
            if task.progress is not None:
                task.progress(epoch, method.epochs)
        return real(method.with_fields(epochs=1), task)

    clock = iter(np.arange(0.0, 1e6, 1.0))
    monkeypatch.setattr(GCN, "run", slow)
    monkeypatch.setattr(_halving, "CANDIDATES", (("gcn", {"epochs": 5000}),))
    monkeypatch.setattr(_halving.time, "monotonic", lambda: float(next(clock)))
    planned = auto_plan(toy, "fixed", (0,), time_limit=2000.0)
    assert asked[0] == 5000
    assert 30 <= asked[1] < 5000
    # What was judged is said, and there is time to train with all epochs.
    assert planned.choice.winner.changes["epochs"] == asked[1]
    assert planned.method.epochs == 5000
    assert "There was time" not in planned.choice.words


def test_more_epochs_than_were_tried_are_trained_as_far_as_there_is_time(toy, monkeypatch):
    def cut(_search: object, candidate: Tried, task: Task) -> list[float]:
        candidate.all_epochs, candidate.changes = 100, {"epochs": 20}
        candidate.method = candidate.method.with_fields(epochs=2)
        return _scores.candidate_scores(candidate.method, task, part="test")

    monkeypatch.setattr(_halving, "CANDIDATES", (("gcn", {}),))
    monkeypatch.setattr(_halving, "_VARIATIONS", 0)
    monkeypatch.setattr(_halving._Halving, "_scores", cut)
    # 20 epochs of a replica take so long: in the 1,000 seconds three have time for 60 or less.
    monkeypatch.setattr(_halving, "_seconds_each", lambda _: 100.0)
    choice = auto_plan(toy, "fixed", range(10), time_limit=1000.0).choice
    assert 50 <= choice.epochs <= 60
    said = f"There was time to train 3 of 10 replicas, for {choice.epochs} of 100 epochs."
    assert choice.words.endswith(said)
    assert choice.to_dict()["epochs"] == choice.method.epochs == choice.epochs
    # A single one has time for all.
    assert auto_plan(toy, "fixed", (0,), time_limit=1000.0).choice.epochs == 100
    # So have variations of what was cut.
    search = object.__new__(_halving._Halving)
    search.task = Task(toy, (toy.split("fixed"),), (0,))
    monkeypatch.setattr(_halving, "_VARIATIONS", 3)
    tried = Tried(GCN(epochs=20), {"epochs": 20}, "accuracy", all_epochs=100)
    assert {each.all_epochs for each in search._variations([tried])} == {100}
    monkeypatch.setattr(_halving, "_VARIATIONS", 0)
    # Never fewer than were tried.
    monkeypatch.setattr(_halving, "_seconds_each", lambda _: 320.0)
    assert auto_plan(toy, "fixed", range(10), time_limit=1000.0).choice.epochs == 20


def test_without_time_for_all_replicas_fewer_are_trained_and_it_says_so(toy, monkeypatch):
    monkeypatch.setattr(_halving, "CANDIDATES", (("gcn", {"epochs": 5}),))
    monkeypatch.setattr(_halving, "_seconds_each", lambda _: 100.0)
    planned = auto_plan(toy, "fixed", range(20), time_limit=1000.0)
    assert planned.seeds == tuple(range(9))
    assert len(planned.splits) == 9
    run = planned.train()
    assert run.accuracy.n == 9
    assert run.choice["words"].endswith("There was time to train 9 of 20 replicas.")
    assert (run.choice["replicas_wanted"], run.choice["replicas"]) == (20, 9)
    # A method must leave time for three replicas, or for all where fewer are wanted.
    monkeypatch.setattr(_halving, "_seconds_each", lambda _: 400.0)
    with pytest.raises(InputError, match="too short for a single method"):
        auto_plan(toy, "fixed", range(20), time_limit=1000.0)
    assert "There was time" not in auto_plan(toy, "fixed", (0, 1), time_limit=1000.0).choice.words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"time_limit": "0.0001s"}, "time limit of 0.0001 s is too short for a single method"),
        ({"time_limit": "long"}, "takes a duration such as 30s, 5m or 2h; got 'long'"),
        ({"changes": {"hidden": 4}}, "the method auto chooses the settings; leave out `hidden`"),
        ({"split": "10-fold"}, "'auto' chooses on one split, and '10-fold' has folds"),
        ({"metric": "acc"}, "unknown metric 'acc'"),
        (
            {"checkpoints": agnn.Checkpoints("x")},
            r"`checkpoints` .* does not go with the method auto, which would",
        ),
    ],
)
def test_bad_arguments_are_one_clear_line(arguments, words, toy):
    with pytest.raises(InputError, match=words):
        agnn.evaluate("auto", toy, **arguments)


def test_what_has_no_choice_to_make_is_refused(toy):
    with pytest.raises(InputError, match=r"`time_limit` \(--time\) goes with the method auto"):
        agnn.evaluate("gcn", toy, time_limit=3)
    with pytest.raises(InputError, match="needs several splits, and 'fixed' is the same for every"):
        auto_plan(toy, "fixed", (0,), nested=True)
    nobody = Split("no validation", toy.split("fixed").train, [], toy.split("fixed").test)
    with pytest.raises(InputError, match="chooses on validation nodes, and the split"):
        agnn.evaluate("auto", toy, nobody)


def test_validation_nodes_of_new_classes_alone_are_too_few(toy):
    """Every class needs a training node, which leaves none to choose by."""
    first, second, third = (np.flatnonzero(toy.labels == label) for label in range(3))
    split = Split("few", first[:3], [second[0], third[0]], first[3:])
    with pytest.raises(InputError, match="has too few validation nodes for 'auto'"):
        agnn.evaluate("auto", toy, split)


def test_what_stopped_every_candidate_is_said(toy, monkeypatch):
    monkeypatch.setattr(_halving, "CANDIDATES", (("gcn", {}),))

    def failing(*_: object) -> Outcome:
        raise InputError("no such thing.")

    monkeypatch.setattr(GCN, "run", failing)
    with pytest.raises(InputError, match=r"no method could be trained. GCN: no such thing\.$"):
        agnn.evaluate("auto", toy)
