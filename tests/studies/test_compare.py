"""Methods compared on the same splits: order, ties, resuming, time limits, search."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import agnn
from agnn.data import NodeData, Split, make_splits
from agnn.errors import InputError
from agnn.metrics import MEASURES, NodeDifference
from agnn.metrics._measures import METRICS
from agnn.report._leaderboard import leaderboard_markdown
from agnn.studies import Leaderboard, Progress, Store, _compare, _executor
from agnn.studies._batches import ALL_MEASURES
from agnn.studies._compare import PORTFOLIO
from agnn.studies._executor import Executed, execute
from agnn.studies._leaderboard import order_entries
from agnn.studies._store import StoredRun
from agnn.studies._works import Work

QUICK = ["majority", "ridge", "label_propagation"]


@pytest.fixture(scope="module")
def board(toy: NodeData) -> Leaderboard:
    return agnn.compare(toy, [*QUICK, "gcn"], replicas=3)


def test_every_entry_has_what_evaluate_finds(board, toy):
    for entry in board.entries:
        run = agnn.evaluate(entry.name, toy, seeds=(0, 1, 2))
        for name in MEASURES:
            assert entry.measures[name].values == pytest.approx(run.measure(name).values)
        assert entry.n == 3
        assert entry.seconds > 0


@pytest.mark.parametrize("metric", METRICS)
def test_the_metric_orders_and_the_best_comes_first(metric, toy):
    found = agnn.compare(toy, QUICK, replicas=1, metric=metric)
    means = [entry.measures[metric].mean for entry in found.entries]
    assert means == sorted(means, reverse=not MEASURES[metric].is_loss)
    assert found.best.difference is None
    for entry in found.entries[1:]:
        gap = entry.measures[metric].mean - found.best.measures[metric].mean
        assert entry.difference.mean == pytest.approx(gap, abs=1e-4)


@pytest.mark.parametrize("metric", ["accuracy", "log_loss"])
def test_validation_is_the_metric_on_validation_nodes(metric, toy):
    (entry,) = agnn.compare(toy, ["ridge"], replicas=1, metric=metric).entries
    run = agnn.evaluate("ridge", toy, metric=metric)
    nodes = run.splits[0].validation
    expected = MEASURES[metric](toy.labels[nodes], run.scores[0].numpy()[nodes])
    assert entry.validation.mean == pytest.approx(expected)


def test_on_one_split_the_difference_is_that_of_the_accuracies_paired_by_node(toy):
    found = agnn.compare(toy, ["ridge", "label_propagation"], replicas=1)
    runs = [agnn.evaluate(entry.name, toy) for entry in found.entries]
    expected = NodeDifference.between(
        "accuracy", runs[1].scores, runs[0].scores, toy, runs[0].splits
    )
    assert found.entries[1].difference.mean == pytest.approx(expected.mean)
    assert found.entries[1].difference.interval == pytest.approx(expected.interval, abs=1e-3)


def test_where_test_nodes_are_many_the_difference_is_still_that_of_all(toy, monkeypatch):
    whole = agnn.compare(toy, ["ridge", "label_propagation"], replicas=1).entries[1].difference
    monkeypatch.setattr("agnn.studies._batches._MOST_NODES", 20)
    some = agnn.compare(toy, ["ridge", "label_propagation"], replicas=1).entries[1].difference
    assert some.mean == pytest.approx(whole.mean)
    assert some.interval.high - some.mean > whole.interval.high - whole.mean


def test_a_method_that_is_as_good_as_the_best_is_shown_as_tied(board):
    assert board.entries[-1].name == "majority"
    assert not board.entries[-1].is_tied
    assert board.tied[0] is board.best
    assert "(tied)" in repr(board)


def judged(method: str, values: dict[int, float], validation: float = 50.0) -> list[StoredRun]:
    """Finished runs with these accuracies by seed, of which no node says more."""
    packed = base64.b64encode(zlib.compress(np.zeros(24, "<f4").tobytes())).decode()
    return [
        StoredRun(
            spec="s", data="d", seed=seed, experiment="compare", method=method, dataset="toy",
            split="stratified", accuracy=value, selected_epochs=[], betas=[], versions={},
            device="cpu", backend="numba", seconds=1.0, machine={}, extra={
                "measures": dict.fromkeys(MEASURES, value), "validation": validation,
                "contributions": packed, "memory": None,
            },
        )
        for seed, value in values.items()
    ]  # fmt: skip


def board_of(toy: NodeData, runs: dict[str, list[StoredRun]], metric="accuracy") -> Leaderboard:
    works = [
        Work(
            "compare", name, agnn.methods.get_method(name), toy, "stratified", "all_measures",
            tuple(run.seed for run in own),
        )
        for name, own in runs.items()
    ]  # fmt: skip
    return Leaderboard(toy, "stratified", metric, order_entries(works, runs, metric))


@pytest.mark.parametrize(("metric", "chosen"), [("accuracy", "gcn"), ("log_loss", "ridge")])
def test_the_method_that_may_be_quoted_is_best_on_validation_nodes_not_on_test_nodes(
    toy, metric, chosen
):
    runs = {"ridge": judged("ridge", {0: 80.0}, 60.0), "gcn": judged("gcn", {0: 70.0}, 65.0)}
    if metric == "log_loss":  # of which less is better: the order on test nodes turns round
        runs["ridge"], runs["gcn"] = judged("ridge", {0: 80.0}, 0.6), judged("gcn", {0: 70.0}, 0.7)
    found = board_of(toy, runs, metric)
    assert found.best.name != chosen
    assert found.chosen.name == chosen


def test_replicas_are_paired_by_seed_where_one_in_the_middle_is_missing(toy):
    best = judged("ridge", {0: 90.0, 1: 60.0, 2: 90.0})
    behind = judged("gcn", {0: 80.0, 2: 80.0})
    found = board_of(toy, {"ridge": best, "gcn": behind}).entries[1].difference
    # By position it would be -10 and +20.
    assert (found.mean, found.n) == (-10.0, 2)
    assert found.interval == pytest.approx((-10.0, -10.0))


def test_folds_are_compared_trial_by_trial(toy):
    found = agnn.compare(toy, QUICK, split="stratified-5-fold", replicas=2)
    assert [entry.n for entry in found.entries] == [2, 2, 2]
    run = agnn.evaluate("ridge", toy, "stratified-5-fold", replicas=2)
    (ridge,) = [entry for entry in found.entries if entry.name == "ridge"]
    assert ridge.measures["accuracy"].values == pytest.approx(run.accuracy.values)


def test_the_frame_and_the_json_have_a_row_per_method(board):
    frame = board.to_frame()
    assert frame["method"].tolist() == [entry.name for entry in board.entries]
    assert frame.loc[0, "difference"] == 0.0
    values = board.to_dict()
    assert [each["method"] for each in values["methods"]] == frame["method"].tolist()
    assert values["best_on_validation_nodes"] == board.chosen.name


def test_what_is_finished_is_not_made_again(toy, tmp_path: Path):
    first = agnn.compare(toy, QUICK, replicas=2, store=tmp_path / "runs.sqlite")
    again = agnn.compare(toy, QUICK, replicas=2, store=tmp_path / "runs.sqlite")
    more = agnn.compare(toy, [*QUICK, "gcn"], replicas=3, store=tmp_path / "runs.sqlite")
    assert (first.new, again.new, more.new) == (6, 0, 6)
    assert again.to_dict() == first.to_dict()


@pytest.mark.slow
def test_a_killed_comparison_goes_on_where_it_stopped(toy, tmp_path: Path):
    graph = csr_array(
        (np.ones(toy.edges.shape[1]), (toy.edges[0], toy.edges[1])), shape=(toy.nodes,) * 2
    )
    np.savez(
        tmp_path / "toy.npz", labels=toy.labels, adj_data=graph.data, adj_indices=graph.indices,
        adj_indptr=graph.indptr, adj_shape=graph.shape, attr_data=toy.features.data,
        attr_indices=toy.features.indices, attr_indptr=toy.features.indptr,
        attr_shape=toy.features.shape,
    )  # fmt: skip
    words = "compare toy.npz --methods majority,gcn --replicas 20 --split 20-per-class --quiet"
    command = [sys.executable, "-c", "from agnn.cli import main; raise SystemExit(main())"]
    process = subprocess.Popen([*command, *words.split()], cwd=tmp_path)  # noqa: S603
    store = tmp_path / "comparison" / "runs.sqlite"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if store.exists() and process.poll() is None:
            with closing(Store.open(store)) as kept:
                if kept.runs():
                    break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with closing(Store.open(store)) as kept:
        before = kept.runs()
    assert 0 < len(before) < 40
    data = agnn.read_graph(tmp_path / "toy.npz")
    found = agnn.compare(data, ["majority", "gcn"], replicas=20, split="20-per-class", store=store)
    assert found.new == 40 - len(before)
    with closing(Store.open(store)) as kept:
        after = {(run.spec, run.seed): run for run in kept.runs()}
    assert all(after[run.spec, run.seed] == run for run in before)


def test_with_a_time_limit_all_methods_get_one_replica_before_any_gets_more(toy, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    seen: list[Progress] = []

    def report(progress: Progress) -> None:
        seen.append(progress)
        clock.now += 0.05  # an epoch takes as long on every machine

    for module in (_compare, _executor):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(_compare._Race, "_cost", lambda _, __: 0.05)
    agnn.compare(toy, [*QUICK, "sgc"], time_limit=6.0, progress=report)
    assert clock.now < 6.0
    labels = [label for label, _ in groupby(each.label.split(" on ")[0] for each in seen)]
    assert labels[:4] == ["Most frequent class", "Ridge regression", "LP", "SGC"]
    assert next(each.total for each in seen if each.label.startswith("SGC")) == 4
    assert all(each.seconds_left is not None and each.seconds_left <= 6.0 for each in seen)


def test_time_too_short_for_a_round_goes_to_those_with_the_fewest_replicas(toy, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(_compare, "time", SimpleNamespace(monotonic=lambda: clock.now))
    cost = {"majority": 0.1, "ridge": 1.0, "gcn": 3.0}
    done = {"majority": 2, "ridge": 2, "gcn": 2}

    class Trainer:
        deadline = 4.9

        def runs(self, work: Work) -> list[SimpleNamespace]:
            name = work.method.name
            return [SimpleNamespace(seconds=cost[name])] * done[name]

        def run(self, works: list[Work], *_: object) -> Executed:
            (work,) = works
            assert len(work.seeds) == done[work.method.name] + 1
            done[work.method.name] += 1
            clock.now += cost[work.method.name]
            return Executed(1, 0)

    methods = [agnn.methods.get_method(name)() for name in cost]
    seeds = tuple(range(5))
    works = [Work("compare", m.title, m, toy, "fixed", ALL_MEASURES, seeds) for m in methods]
    race = _compare._Race(Trainer(), works)
    race._fill(4.9)
    assert done == {"majority": 5, "ridge": 3, "gcn": 3}
    assert clock.now == pytest.approx(4.3)


def test_a_time_limit_that_is_too_short_is_said_so(cora):
    with pytest.raises(InputError, match="too short for a single method"):
        agnn.compare(cora, ["gat"], time_limit=1e-3)


def test_no_method_takes_more_than_its_share_and_what_is_not_reached_is_named(toy, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    for module in (_compare, _executor):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def train_forever(_: object, task: agnn.methods.Task) -> None:
        for epoch in range(10_000):
            clock.now += 0.1
            task.progress(epoch, 10_000)

    monkeypatch.setattr(agnn.networks.GCN, "run", train_forever)
    found = agnn.compare(toy, ["gcn", "majority", "sgc", "ridge"], time_limit=30.0, replicas=2)
    assert {entry.name for entry in found.entries} == {"majority", "sgc", "ridge"}
    assert found.missing == ("GCN",)
    assert {entry.n for entry in found.entries} == {2}  # the others go on without it


@pytest.mark.parametrize(("name", "step"), [("ridge", "candidates"), ("boosting", "scores")])
def test_a_method_without_epochs_keeps_to_its_share_too(toy, monkeypatch, name, step):
    clock = SimpleNamespace(now=0.0)
    for module in (_compare, _executor):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    done = []

    def slow(_: agnn.methods.Method, data: NodeData, splits: object) -> object:
        if step == "scores":  # of one fold
            done.append(clock.now)
            clock.now += 8.0
            return np.full((data.nodes, data.classes), 1 / data.classes)

        def settings() -> Iterator[object]:
            for _ in range(25):
                done.append(clock.now)
                clock.now += 8.0
                yield [lambda nodes: np.zeros((len(nodes), data.classes))] * len(splits)

        return settings()

    monkeypatch.setattr(agnn.methods.get_method(name), step, slow)
    found = agnn.compare(toy, ["majority", name, "sgc"], split="cross-fit", time_limit=60.0)
    assert "sgc" in {entry.name for entry in found.entries}
    assert name not in {entry.name for entry in found.entries}
    assert len(done) == 4, "eight seconds each, and a share of thirty"


def test_a_method_that_fails_leaves_the_others(toy):
    blind = replace(toy, features=csr_array((toy.nodes, 0), dtype=np.float32))
    found = agnn.compare(blind, ["majority", "ridge", "gcn"], replicas=1)
    assert [entry.name for entry in found.entries] == ["majority"]
    assert [words.split(":")[0] for words in found.failures] == ["Ridge regression", "GCN"]


def test_a_search_chooses_settings_on_validation_nodes_first(toy, tmp_path: Path):
    found = agnn.compare(toy, ["majority", "sgc"], replicas=1, search=2, store=tmp_path / "s")
    (entry,) = [entry for entry in found.entries if entry.name == "sgc"]
    assert (tmp_path / "search.sqlite").exists()
    again = agnn.compare(toy, ["majority", "sgc"], replicas=1, search=2, store=tmp_path / "s")
    assert again.new == 0
    assert entry.method.settings == again.entries[found.entries.index(entry)].method.settings


def test_a_method_whose_search_fails_is_named_and_not_shown_with_other_settings(
    toy, tmp_path: Path, monkeypatch
):
    store = tmp_path / "s"
    agnn.compare(toy, ["sgc"], replicas=1, store=store)

    def fail(*_: object) -> None:
        raise InputError("no trial could be scored.")

    monkeypatch.setattr(_compare._Trainer, "search", fail)
    found = agnn.compare(toy, ["majority", "sgc"], replicas=1, search=2, store=store)
    assert [entry.name for entry in found.entries] == ["majority"]
    assert found.failures == ("SGC: no trial could be scored.",)


def test_a_method_that_chooses_its_settings_does_so_once_for_all_its_replicas(toy, tmp_path: Path):
    quick = {"layers": 1, "hidden": 4, "epochs": 3}
    made = agnn.networks.Separated.candidates
    calls = []

    class Watched(agnn.networks.Separated):
        candidates = tuple({**each, "layers": 1} for each in made)

        def run(self, task):
            calls.append(len(task.seeds))
            return super().run(task)

    method = replace(Watched(), hidden=quick["hidden"], epochs=quick["epochs"])
    work = Work("compare", "W", method, toy, "fixed", ALL_MEASURES, (0, 1))
    with closing(Store.open(tmp_path / "s")) as store:
        assert execute([work], store).failures == {}
        execute([replace(work, seeds=(0, 1, 2, 3))], store)
        runs = store.runs(work.key)
    assert len(runs) == 4
    chosen = [run.extra["settled"] for run in runs]
    assert all(each == chosen[0] and not each["tries_candidates"] for each in chosen)
    assert calls.count(3) == len(made)  # every candidate once, by the first seeds


def test_the_portfolio_is_a_dozen_registered_methods_and_cheap_ones_come_first():
    assert len(PORTFOLIO) >= 12
    assert set(PORTFOLIO) <= set(agnn.method_names())
    assert PORTFOLIO[0] == "majority"
    assert PORTFOLIO.index("agnn_plus") < 5  # the default is reached where time is short


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"methods": ["gcnn"]}, "unknown method 'gcnn'; did you mean 'gcn'"),
        ({"methods": ["gcn", "GCN"]}, "'gcn' is named twice"),
        ({"methods": []}, "at least one method"),
        ({"metric": "acc"}, "unknown metric 'acc'"),
        ({"time_limit": "soon"}, "takes a duration such as 30s, 5m or 2h; got 'soon'"),
        ({"time_limit": -3}, "takes a duration such as 30s, 5m or 2h; got '-3'"),
        ({"search": -1}, "`search` must not be negative"),
        ({"replicas": 0}, "`replicas` must be at least 1"),
        ({"split": "unifrom"}, "unknown split 'unifrom'; did you mean 'uniform'"),
    ],
)
def test_bad_arguments_are_one_clear_line(arguments, words, toy):
    with pytest.raises(InputError, match=words):
        agnn.compare(toy, **arguments)


def test_the_split_of_every_seed_is_the_same_for_all_methods(toy, monkeypatch):
    seen: dict[str, list[object]] = {}

    def spied(method: object, task: agnn.methods.Task) -> object:
        seen.setdefault(type(method).__name__, []).extend(task.splits)
        return real(method, task)

    real = agnn.methods.SplitMethod.run
    monkeypatch.setattr(agnn.methods.SplitMethod, "run", spied)
    agnn.compare(toy, QUICK, replicas=2, split="stratified")
    expected = list(make_splits(toy, "stratified", [0, 1]))
    assert set(seen) == {"Majority", "LabelPropagation"}
    assert all(found == expected for found in seen.values())


def test_a_rare_class_is_said_where_accuracy_orders(toy):
    labels = np.zeros(toy.nodes, dtype=int)
    labels[:2] = 1
    split = Split("two", [0, *range(10, 20)], [*range(20, 30)], [1, *range(30, 40)])
    data = replace(toy, labels=labels, class_names=("no", "yes"), splits={"two": split})
    by_accuracy, by_f1 = (
        agnn.compare(data, ["majority"], split="two", replicas=1, metric=metric)
        for metric in ("accuracy", "f1")
    )
    assert "so accuracy says little about it. Judge by AUC" in by_accuracy.warnings[0]
    assert by_accuracy.to_dict()["warnings"] == by_accuracy.warnings
    assert by_accuracy.warnings[0] in leaderboard_markdown(by_accuracy)
    assert by_f1.warnings == []


def test_an_auc_that_a_later_split_does_not_define_is_refused_at_once(toy):
    labels = (np.arange(toy.nodes) < 3).astype(int)
    first = Split("own-1", [0, *range(10, 20)], [1, *range(20, 30)], [2, *range(30, 40)])
    second = Split("own-2", [0, 1, 2, *range(10, 20)], [*range(20, 30)], [*range(30, 40)])
    data = replace(
        toy, labels=labels, class_names=("no", "yes"), splits={"own-1": first, "own-2": second}
    )
    with pytest.raises(InputError, match="AUC needs nodes of two classes"):
        agnn.compare(data, ["majority"], split="own", replicas=2, metric="auc")
