"""The default method gives way to another one only where held-out labels clearly prefer it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics import log_loss

import agnn
from agnn.choosing import Choice, _default as module, challenge, rivals, small_form
from agnn.cli import main
from agnn.data import NodeData, Split, make_splits
from agnn.errors import DivergedError
from agnn.methods import Method, Outcome, Task, get_method
from agnn.metrics import helpful_temperature
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
    monkeypatch: pytest.MonkeyPatch, leads: dict[str, float], spread: float = 0.0
) -> Choice:
    """The choice where methods have these leads over the others on ten folds, give or take."""

    def known_scores(method: Method, task: Task) -> list[float]:
        size = len(task.splits)
        gaps = np.where(np.arange(size) % 2, spread, -spread) if method.name in leads else 0.0
        return (np.linspace(-1.2, -1.0, size) + leads.get(method.name, 0.0) + gaps).tolist()

    monkeypatch.setattr(module, "_fold_scores", known_scores)
    data = graph(is_alike=False)
    return challenge(
        get_method("agnn_plus")(),
        lambda name, changes: prepare(name, data, "stratified", changes),
        task_of(data),
    )


# The standard error of ten differences that are 1 and -1 in turn, where folds share their nodes.
ERROR = np.sqrt(10 / 9) * np.sqrt(1 / 10 + 9 / 81)


@pytest.mark.parametrize(("errors", "winner"), [(0.49, "agnn_plus"), (0.51, "appnp")])
def test_another_method_must_be_ahead_by_half_a_standard_error(monkeypatch, errors, winner):
    choice = compare(monkeypatch, {"appnp": errors * ERROR}, spread=1.0)
    assert choice.lead_error == pytest.approx(ERROR)
    assert abs(choice.lead.mean) == pytest.approx(errors * ERROR)
    assert choice.method.name == winner
    assert choice.winner.method.name == winner
    # The comparison that decided is the one that is reported.
    assert {tried.method.name for tried in choice.tried[:2]} == {"agnn_plus", "appnp"}


def test_the_words_say_what_was_compared_and_by_what(monkeypatch):
    kept = compare(monkeypatch, {"appnp": -0.25}).words
    assert (
        "AGNN+, the default, was kept: it has 1.100 log loss (lower is better) on labels held out"
        in kept
    )
    taken = compare(monkeypatch, {"appnp": 0.25}).words
    assert taken.startswith("APPNP in place of the default, AGNN+: 0.850 against 1.100 log loss")
    assert "a lead of 0.250 ± 0.000" in taken


@pytest.mark.parametrize(("errors", "winner"), [(0.49, "appnp"), (0.51, "ridge")])
def test_a_method_without_a_network_must_also_lead_the_networks(monkeypatch, errors, winner):
    scores = {"agnn_plus": np.arange(10.0) / 10 - 2}
    uneven = np.where(np.arange(10) % 2, 1.0, -1.0)
    scores["appnp"] = scores["agnn_plus"] + 10
    scores["ridge"] = scores["appnp"] + uneven + errors * ERROR
    monkeypatch.setattr(
        module, "_fold_scores", lambda method, _: list(scores.get(method.name, np.full(10, -9.0)))
    )
    data = graph(is_alike=False)
    choice = challenge(
        get_method("agnn_plus")(),
        lambda name, changes: prepare(name, data, "stratified", changes),
        task_of(data),
    )
    assert choice.method.name == winner
    assert choice.words.startswith(f"{choice.method.title} in place of the default, AGNN+: ")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials of a few epochs."""
    monkeypatch.setattr(module, "_EPOCHS", (5, 5))


@pytest.mark.parametrize(("most", "forms"), [(CLASSES * NODES, 2), (CLASSES * NODES - 1, 1)])
def test_sparse_features_are_not_made_a_large_table_for_a_trial(monkeypatch, most, forms):
    monkeypatch.setattr(module, "_MOST_ENTRIES", most)
    monkeypatch.setattr(module, "_fold_scores", lambda *_: [0.0] * 10)
    data = graph(is_alike=False)
    data = replace(data, features=csr_array(np.eye(CLASSES, dtype=np.float32)[data.labels]))

    def prepared(name: str, changes: dict[str, object]) -> Method:
        scaling = {"separated": "standard", "agnn": "length", "appnp": "length"}
        known = {"scaling": scaling[name]} if name in scaling else {}
        return prepare(name, data, "stratified", known | changes)

    choice = challenge(get_method("agnn_plus")(), prepared, task_of(data))
    names = [tried.method.name for tried in choice.tried]
    assert names.count("separated") == forms, "the form that standardises is left out"
    assert {"agnn_plus", "agnn", "appnp", "ridge"} < {*names}


@pytest.mark.usefixtures("short")
def test_a_score_is_the_log_loss_of_the_model_that_left_the_label_out():
    """By the definition, from the scores of a run on the same folds."""
    data = graph(is_alike=False)
    choice = challenge(
        get_method("gcn")(epochs=5),
        lambda name, changes: prepare(name, data, "stratified", changes),
        task_of(data),
    )
    known = replace(data, labels=np.where(np.arange(NODES) < 90, data.labels, -1), splits={})
    splits = make_splits(known, "10-fold-cross-fit", (0,))
    seeds = tuple(range(10))
    passes = (0,) * 10
    scores = (
        get_method("gcn")(epochs=5).run(Task(known, splits, seeds, passes=passes)).scores.numpy()
    )
    nodes = np.concatenate([split.test for split in splits])
    predicted = np.concatenate([scores[r, split.test] for r, split in enumerate(splits)]).astype(
        float
    )
    in_order = np.argsort(nodes)
    temperature = helpful_temperature(predicted[in_order], data.labels[nodes[in_order]])
    losses = []
    for r, split in enumerate(splits):
        logits = np.log(scores[r, split.test].astype(float)) / temperature
        probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        losses.append(log_loss(data.labels[split.test], probabilities, labels=[0, 1, 2]))
    tried = next(tried for tried in choice.tried if tried.method.name == "gcn")
    np.testing.assert_allclose(tried.scores, -np.array(losses), rtol=1e-5)


def test_class_weights_count_in_the_comparison(monkeypatch):
    """A method that knows only the common class loses where the rare one counts."""
    data = graph(is_alike=False)
    labels = np.where(np.arange(NODES) % 10 == 0, 1, 0)
    data = replace(data, labels=labels, class_names=("common", "rare"))

    def run(method: Method, task: Task) -> Outcome:
        knows_rare = method.name == "appnp"
        rare = 0.5 if knows_rare else 0.02
        scores = torch.tensor([1 - rare, rare]).expand(len(task.splits), NODES, 2).clone()
        if knows_rare:
            scores[:, labels == 1] = torch.tensor([0.4, 0.6])
        return Outcome(scores)

    for method in {get_method(name) for name in ("agnn_plus", "agnn", "appnp", "separated")}:
        monkeypatch.setattr(method, "run", run)
    monkeypatch.setattr(module, "helpful_temperature", lambda *_: 1.0)
    choices = [
        challenge(
            get_method("agnn_plus")(),
            lambda name, changes: prepare(name, data, "stratified", changes),
            task_of(data),
            class_weight,
        )
        for class_weight in (None, "balanced")
    ]
    networks = [choice.tried for choice in choices]
    scores = [{tried.method.name: tried.mean for tried in tried_ones} for tried_ones in networks]
    assert scores[0]["agnn_plus"] > scores[0]["appnp"]
    assert scores[1]["agnn_plus"] < scores[1]["appnp"]
    assert choices[1].method.name == "appnp"


def test_a_method_that_fails_or_diverges_is_named_and_never_wins(monkeypatch):
    def scores(method: Method, task: Task) -> list[float]:
        if method.name == "appnp":
            raise DivergedError("APPNP diverged.")
        return [-1.0] * len(task.splits)

    monkeypatch.setattr(module, "_fold_scores", scores)
    data = graph(is_alike=False)
    choice = challenge(
        get_method("agnn_plus")(),
        lambda name, changes: prepare(name, data, "stratified", changes),
        task_of(data),
    )
    assert choice.method.name == "agnn_plus"
    assert [tried.remark for tried in choice.tried if tried.method.name == "appnp"] == [
        "APPNP diverged."
    ]


def test_a_chosen_method_has_its_own_settings_and_not_those_of_the_trial(monkeypatch):
    choice = compare(monkeypatch, {"separated": 1.0})
    assert choice.method == get_method("separated")()


def test_like_neighbours_are_those_of_many_edges_within_classes():
    few = graph(is_alike=True)
    few = replace(few, edges=few.edges[:, :4], edge_weights=None)
    for data, is_alike in (
        (graph(is_alike=True), True),
        (graph(is_alike=False), False),
        (few, False),
    ):
        names = {name for name, _ in rivals(task_of(data))}
        assert names == {"agnn", "appnp"} | (set() if is_alike else {"ridge", "separated"})


def test_very_few_labels_compare_nothing():
    data = graph(is_alike=False)
    nodes = np.arange(NODES)
    for train, validation, count in ((10, 9, 0), (10, 10, 5), (40, 1, 5)):
        parts = np.split(nodes, [train, train + validation])
        assert len(rivals(Task(data, (Split("few", *parts),), (0,)))) == count


@pytest.mark.parametrize(("rarest", "count"), [(30, 0), (29, 2)])
def test_a_class_with_few_labels_is_reason_to_compare_simpler_networks(monkeypatch, rarest, count):
    """However many labels the other classes have."""
    monkeypatch.setattr(module, "_FEW", 30)
    data = graph(is_alike=True)
    labels = data.labels.copy()
    labels[np.flatnonzero(labels[:90] == 2)[rarest:]] = 0
    assert len(rivals(task_of(replace(data, labels=labels)))) == count


def test_graphs_without_features_and_very_large_ones_compare_nothing(monkeypatch):
    task = task_of(graph(is_alike=False))
    assert rivals(task)
    assert not rivals(replace(task, data=replace(task.data, features=task.data.features[:, :0])))
    monkeypatch.setattr(module, "_MOST_LINES", NODES)
    assert not rivals(task)
    assert rivals(replace(task, device="cuda"))


@pytest.mark.usefixtures("short")
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
        results.append([(tried.words, tried.scores) for tried in choice.tried])
    assert results[0] == results[1]


def test_unlike_neighbours_end_in_another_method_and_the_run_says_so(monkeypatch):
    monkeypatch.setattr(module, "_EPOCHS", (60, 60))
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
    assert Training(data=data).plan().rivals
    assert not Training(data=data, **given).plan().rivals


def test_like_neighbours_and_many_labels_leave_nothing_to_choose(monkeypatch):
    monkeypatch.setattr(module, "_FEW", 40)
    plan = Training(data=graph(is_alike=True)).plan()
    assert not plan.rivals
    assert plan.choose() is plan
    monkeypatch.setattr(module, "_FEW", 41)
    assert Training(data=graph(is_alike=True)).plan().rivals


def test_a_first_look_is_small_and_says_that_it_is_one():
    run = agnn.evaluate(None, graph(is_alike=True), quick=True)
    assert (run.replicas, run.method.hidden, run.method.epochs) == (3, 32, 150)
    assert run.choice["words"].startswith("This is a first look")


def test_a_large_graph_takes_the_first_look_by_itself(monkeypatch):
    monkeypatch.setattr(AGNNPlus, "step_seconds", lambda *_: 0.6)  # in its smaller form, too
    data = graph(is_alike=False)
    plan = Training(data=data).plan()
    assert (len(plan.seeds), plan.method.hidden, plan.method.epochs) == (3, 32, 150)
    assert not plan.rivals
    assert plan.first_look.startswith("This is a first look, because a full training would")
    assert "`--replicas 5`" in plan.first_look
    full = Training(data=data, replicas=5).plan()
    assert (len(full.seeds), full.method.epochs, full.first_look) == (5, 1000, None)
    assert full.rivals


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


def test_what_replaces_the_default_is_what_the_training_can_afford(monkeypatch):
    plan = Training(data=graph(is_alike=False), seeds=(0,)).plan()
    choice = Choice(metric="log_loss", tried=(), seconds=0.0, nodes=1, scoring=1, method=None)
    for name, seconds, patience in (("appnp", 0.6, 50), ("appnp", 0.4, 100), ("agnn", 0.6, 50)):
        winner = replace(choice, method=prepare(name, plan.data, plan.split_spec))
        monkeypatch.setattr("agnn.runs._plan.challenge", lambda *_, winner=winner: winner)
        monkeypatch.setattr(get_method(name), "step_seconds", lambda *_, s=seconds: s)
        chosen = plan.choose()
        assert (chosen.method.name, chosen.method.patience) == (name, patience)
        assert chosen.seeds == plan.seeds


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
