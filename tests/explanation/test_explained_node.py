"""The reasons for an answer, part by part, against the model and the graph."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agnn.data import NodeData, Split
from agnn.data.tables import read_tables
from agnn.errors import AgnnError, InputError
from agnn.explanation import Explanation, explain
from agnn.explanation._reach import layer_weights
from agnn.explanation._relevance import edge_relevance
from agnn.runs import Run, _inference, _predictor
from opened_toys import TEMPERATURE, saved_toy, zoo_run
from own_tables import write_tables
from path_definitions import path_attention
from properties import as_matrix
from zoo import ZOO

KINDS = ("agnn", "gcn", "gln")
TARGET = 100


@pytest.fixture(scope="module")
def opened() -> Run:
    return zoo_run("agnn", "random")


@pytest.fixture(scope="module")
def found(opened: Run) -> Explanation:
    return explain(opened, TARGET, limit=6)


@pytest.fixture(scope="module")
def everything(opened: Run) -> Explanation:
    return explain(opened, TARGET, limit=1000)


def shares(opened: Run, node: int) -> np.ndarray:
    """[R, n] Each replica's path attention, made to sum to 1."""
    nodes, weights = path_attention(opened, node)
    whole = np.zeros((2, opened.data.nodes))
    whole[:, nodes] = weights / weights.sum(1, keepdim=True)
    return whole


def test_the_answer_is_the_ensembles(opened: Run, found: Explanation) -> None:
    scores = opened.scores[:, TARGET].double().numpy()
    mean = scores.mean(0)
    power = mean ** (1 / TEMPERATURE)
    assert found.uncalibrated == pytest.approx(mean, abs=1e-6)
    assert found.probabilities == pytest.approx(power / power.sum(), abs=1e-6)
    assert found.probabilities == pytest.approx(opened.probabilities[TARGET], abs=1e-6)
    assert [found.answer, found.second] == np.argsort(-mean).tolist()[:2]
    assert found.confidence == found.probabilities.max()
    assert found.disagreement == (scores.argmax(1) != mean.argmax()).mean()
    assert found.prediction == opened.data.class_names[found.answer]
    assert (found.label, found.id, found.node) == (TARGET % 3, str(TARGET), TARGET)
    assert found.betas == pytest.approx((0.5, 3.0, -2.0))


def test_neighbours_come_most_attended_first_and_the_rest_is_counted(
    opened: Run, found: Explanation, everything: Explanation
) -> None:
    weights = shares(opened, TARGET).mean(0)
    others = [int(j) for j in np.argsort(-weights, kind="stable") if j != TARGET and weights[j] > 0]
    assert [each.node for each in found.neighbours] == others[:6]
    assert [each.weight for each in found.neighbours] == pytest.approx(weights[others[:6]])
    assert found.itself.weight == pytest.approx(weights[TARGET])
    assert found.rest.nodes == len(others) - 6
    assert found.rest.weight == pytest.approx(weights[others[6:]].sum())
    assert everything.rest == (0, 0.0, 0.0, 0.0)
    assert len(everything.neighbours) == len(others)


def test_weights_and_contributions_sum_to_the_whole(found: Explanation) -> None:
    parts = (found.itself, *found.neighbours, found.rest)
    assert sum(part.weight for part in parts) == pytest.approx(1.0)
    margin = sum(part.over_second for part in parts) + found.margin_constant
    assert margin == pytest.approx(found.margin)


def test_the_margin_is_of_the_mean_logits(opened: Run, found: Explanation) -> None:
    with torch.no_grad():
        logits = opened.network(opened.whole_view())[:, TARGET].mean(0)
    expected = float(logits[found.answer] - logits[found.second])
    assert found.margin == pytest.approx(expected, abs=1e-5)


def test_what_is_added_toward_the_answer_is_less_the_mean_of_all_classes(
    opened: Run, found: Explanation
) -> None:
    model = opened.network
    with torch.no_grad():
        logits = model(opened.whole_view())[:, TARGET].mean(0)
        bias = model.last.bias.mean(0)
    centred = (logits - logits.mean()) - (bias - bias.mean())
    added = sum(part.toward_answer for part in (found.itself, *found.neighbours, found.rest))
    assert added == pytest.approx(float(centred[found.answer]), abs=1e-5)
    assert sum(each.own for each in explain(opened, TARGET, limit=1000).features) == pytest.approx(
        _own_by_hand(opened, found.answer), abs=1e-5
    )


def _own_by_hand(opened: Run, answer: int) -> float:
    """What the node's own features add, without the first layer's bias."""
    model = opened.network
    x = opened.data.scaled_features("sum").toarray()[TARGET].astype(float)
    nodes, weights = path_attention(opened, TARGET)
    total = 0.0
    for r in range(2):
        W0, b0, W1 = (
            part[r].detach().double().numpy()
            for part in (model.first.weight, model.first.bias, model.last.weight)
        )
        states = (x @ W0) * (x @ W0 + b0 > 0)
        logits = float(weights[r, (nodes == TARGET).nonzero()[0, 0]]) * states @ W1
        total += (logits[answer] - logits.mean()) / 2
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_attention_and_relevance_are_the_nodes_own_row_of_every_layer(kind: str) -> None:
    opened = zoo_run(kind, "random")
    found, graph = explain(opened, TARGET, limit=1000), opened.graph
    layers = layer_weights(opened.network, opened.whole_view())
    P = [as_matrix(graph, each).mean(0)[TARGET] for each in layers]
    R = [as_matrix(graph, edge_relevance(graph, each)).mean(0)[TARGET] for each in layers]
    beside = graph.senders[graph.receivers == TARGET].tolist()
    assert sorted(each.node for each in found.neighbours if each.hops == 1) == beside
    for each in (found.itself, *found.neighbours):
        if each.hops > 1:
            assert each.attention is each.relevance is None
        else:
            assert each.attention == pytest.approx([float(row[each.node]) for row in P], abs=1e-6)
            assert each.relevance == pytest.approx([float(row[each.node]) for row in R], abs=1e-5)


def test_hops_are_distances_in_the_graph(everything: Explanation) -> None:
    joined = ZOO["random"].neighbourhoods().double()
    for each in everything.neighbours:
        reached = torch.linalg.matrix_power(joined, each.hops)[TARGET, each.node] > 0
        nearer = torch.linalg.matrix_power(joined, each.hops - 1)[TARGET, each.node] > 0
        assert reached
        assert not nearer


def test_each_listed_node_has_its_class_and_where_that_is_from(
    opened: Run, found: Explanation
) -> None:
    answers = opened.probabilities.argmax(1)
    for each in found.neighbours:
        assert each.id == str(each.node)
        assert each.class_name == opened.data.class_names[each.node % 3]
        assert each.class_from == ("training label" if each.node % 3 == 0 else "label")
        assert each.prediction == opened.data.class_names[answers[each.node]]
        assert each.confidence == pytest.approx(opened.probabilities[each.node].max(), abs=1e-6)


def test_an_unlabelled_node_has_its_predicted_class(opened: Run) -> None:
    data = opened.data
    labels = np.where(np.arange(200) % 3 == 0, data.labels, -1)
    blank = NodeData.build(
        name="blank", features=data.features, labels=labels, edges=data.edges,
        class_names=data.class_names,
    )  # fmt: skip
    split = Split("some", np.arange(0, 200, 3), np.array([], int), np.array([], int))
    found = explain(replace(opened, data=blank, splits=(split, split)), TARGET)
    assert found.label == -1
    assert found.to_dict()["label"] is None
    for each in found.neighbours:
        if each.node % 3:
            assert (each.label, each.class_from) == (None, "prediction")
            assert each.class_name == each.prediction
    assert "correct" not in found.in_words()
    assert "wrong" not in found.in_words()


def test_training_nodes_are_counted_by_class_for_each_replica_its_own(opened: Run) -> None:
    nodes = np.arange(200)
    empty = np.array([], dtype=int)
    splits = (Split("even", nodes[::2], empty, empty), Split("few", nodes[:40], empty, empty))
    own = replace(opened, splits=splits)
    found = explain(own, TARGET, limit=1000)
    weights = shares(opened, TARGET)
    shown = np.stack([np.isin(nodes, split.train) for split in splits])
    expected = (weights * shown).mean(0)
    reaching = shown.any(0) & (weights.mean(0) > 0)
    assert {each.class_name for each in found.training} == set(opened.data.class_names)
    for each in found.training:
        of_class = nodes % 3 == opened.data.class_names.index(each.class_name)
        assert each.weight == pytest.approx(expected[of_class].sum())
        assert each.nodes == (reaching & of_class).sum()
    assert [each.weight for each in found.training] == sorted(
        (each.weight for each in found.training), reverse=True
    )
    order = [each.node for each in found.training_nodes]
    assert sorted(order) == np.flatnonzero(reaching).tolist()
    assert expected[order].tolist() == sorted(expected[order], reverse=True)
    assert found.trained_in == 0.5
    assert {each.trained_in for each in found.training_nodes} == {0.5, 1.0}


def test_those_that_speak_for_the_second_class_come_strongest_first(
    everything: Explanation, found: Explanation
) -> None:
    against = sorted(
        each.over_second
        for each in (everything.itself, *everything.neighbours)
        if each.over_second < 0
    )
    assert against, "or nothing is compared"
    assert [each.over_second for each in everything.for_second] == pytest.approx(against)
    assert [each.node for each in found.for_second] == [
        each.node for each in everything.for_second[:6]
    ]


def test_features_come_by_what_they_add_and_are_numbered_where_they_have_no_name(
    everything: Explanation,
) -> None:
    assert [each.feature for each in everything.features] != list(range(9))
    toward = [each.toward_answer for each in everything.features]
    assert toward == sorted(toward, reverse=True)
    assert all(each.over_second < 0 for each in everything.features_for_second)
    assert everything.features[0].name == f"feature {everything.features[0].feature}"


def test_a_large_graph_is_explained_without_being_computed(
    opened: Run, found: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_predictor, "_WHOLE_AT_ONCE", 10)
    fresh = replace(opened)
    again = explain(fresh, TARGET, limit=6)
    assert not fresh.has_scores
    assert [each.prediction for each in again.neighbours] == [
        each.prediction for each in found.neighbours
    ]
    assert [each.confidence for each in again.neighbours] == pytest.approx(
        [each.confidence for each in found.neighbours], abs=1e-6
    )


def test_answers_at_hubs_of_a_large_graph_are_left_out(
    opened: Run, found: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_predictor, "_WHOLE_AT_ONCE", 10)
    monkeypatch.setattr(_inference, "_FEW_EDGES", 100)
    fresh = replace(opened)
    again = explain(fresh, TARGET, limit=6)
    assert not fresh.has_scores
    assert {each.prediction for each in again.neighbours} == {None}
    assert [each.class_name for each in again.neighbours] == [
        each.class_name for each in found.neighbours
    ]
    assert again.probabilities == pytest.approx(found.probabilities)
    assert again.in_words() == found.in_words()
    _ = fresh.scores
    assert None not in {each.prediction for each in explain(fresh, TARGET).neighbours}


def test_a_node_whose_class_nobody_knows_has_none(
    opened: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_predictor, "_WHOLE_AT_ONCE", 10)
    monkeypatch.setattr(_inference, "_FEW_EDGES", 100)
    data = opened.data
    labels = np.where(np.arange(200) % 3 == 0, data.labels, -1)
    blank = NodeData.build(
        name="blank", features=data.features, labels=labels, edges=data.edges,
        class_names=data.class_names,
    )  # fmt: skip
    split = Split("some", np.arange(0, 200, 3), np.array([], int), np.array([], int))
    found = explain(replace(opened, data=blank, splits=(split, split)), TARGET, limit=100)
    unknown = [each for each in found.neighbours if each.node % 3]
    assert unknown
    assert {(each.class_name, each.class_from) for each in unknown} == {(None, "nowhere")}
    assert "None" not in found.in_words()
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_hub_lists_as_many_as_asked() -> None:
    found = explain(zoo_run("agnn", "hub"), 350, limit=5)
    assert len(found.neighbours) == 5
    assert found.rest.nodes == 695
    assert len(found.training_nodes) == 5
    assert "697 more nodes have " in found.in_words()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ZOO)
def test_every_odd_graph_can_be_explained(kind: str, name: str) -> None:
    opened = zoo_run(kind, name)
    found = explain(opened, ZOO[name].nodes // 2, limit=3)
    parts = (found.itself, *found.neighbours, found.rest)
    assert sum(part.weight for part in parts) == pytest.approx(1.0)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["words"] == found.in_words()
    assert len(found.to_frame()) == 1 + len(found.neighbours)


def test_a_node_alone_says_so() -> None:
    found = explain(zoo_run("agnn", "no edges"), 1)
    assert found.neighbours == ()
    assert (
        "No other node reaches it: the prediction depends on its own features alone."
        in found.in_words()
    )


def test_fixed_weights_are_said_to_be_no_attention() -> None:
    assert explain(zoo_run("agnn", "path"), 0).notes == ()
    assert "GCN learns no attention" in explain(zoo_run("gcn", "path"), 0).notes[0]
    assert "GLN learns no attention" in explain(zoo_run("gln", "path"), 0).notes[0]
    assert explain(zoo_run("gcn", "path"), 0).betas is None


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (
            "multilayer_perceptron",
            r"Multilayer perceptron cannot be explained: it depends on the node's own",
        ),
        ("dcnn", r"DCNN cannot be explained: its features are propagated before training and"),
    ],
)
def test_networks_without_propagation_are_refused_with_the_reason(
    toy: NodeData, tmp_path: Path, method: str, reason: str
) -> None:
    opened = saved_toy(toy, tmp_path / "run", method, epochs=2)
    with pytest.raises(AgnnError, match=reason):
        explain(opened, 0)


@pytest.mark.parametrize(
    "method", ["gat", "appnp", "gcnii", "graph_cnn", "monet", "dynamic_filter"]
)
def test_other_networks_are_explained(toy: NodeData, tmp_path: Path, method: str) -> None:
    opened = saved_toy(toy, tmp_path / "run", method, epochs=5)
    found = explain(opened, 60)
    parts = (found.itself, *found.neighbours, found.rest)
    assert sum(part.weight for part in parts) == pytest.approx(1.0)
    margin = sum(part.over_second for part in parts) + found.margin_constant
    assert margin == pytest.approx(found.margin)
    assert found.notes


def test_words_of_a_table_are_named(tmp_path: Path) -> None:
    nodes, edges = write_tables(tmp_path)
    data = read_tables(nodes, edges, label="topic", text="motto", ignore=["age", "colour"])
    opened = saved_toy(data, tmp_path / "run", split="stratified", epochs=20)
    found = explain(opened, 0)
    assert found.features
    assert all(each.name.startswith("motto: ") for each in found.features)


def test_a_limit_or_a_node_that_makes_no_sense_is_refused(opened: Run) -> None:
    with pytest.raises(InputError, match=r"`limit` must be at least 1; got 0\."):
        explain(opened, 3, limit=0)
    with pytest.raises(InputError, match=r"index from 0 to 199; got 200\."):
        explain(opened, 200)


def test_the_frame_has_a_row_for_each_listed_node(found: Explanation) -> None:
    frame = found.to_frame()
    assert frame["node"].tolist() == [TARGET, *(each.node for each in found.neighbours)]
    assert {"id", "hops", "weight", "class", "class_from", "attention 3", "relevance 1"} <= set(
        frame.columns
    )
    assert frame["attention 2"][0] == found.itself.attention[1]


def test_the_words_name_answer_truth_neighbours_and_second(found: Explanation) -> None:
    words = found.in_words()
    assert words.startswith(f"AGNN predicts {found.prediction} for node 100 with confidence ")
    truth = "This is correct." if found.answer == found.label else "wrong: the label is green."
    assert truth in words
    for each in found.neighbours[:3]:
        assert f"{each.id} (" in words
    assert f"The second most probable class is {found.class_names[found.second]}" in words


def test_a_label_that_was_shown_is_said_to_have_been() -> None:
    words = explain(zoo_run("agnn", "random"), 99).in_words()
    assert "Its label, red, was used in the training." in words


@pytest.mark.parametrize(("kind", "weight"), [("agnn", "attention"), ("gcn", "propagation weight")])
def test_weights_are_not_called_a_part_of_the_prediction(kind: str, weight: str) -> None:
    words = explain(zoo_run(kind, "random"), TARGET).in_words()
    assert f"% of the {weight} stays with the node itself" in words
    assert "of the answer" not in words
    assert "of the prediction" not in words


def test_training_nodes_that_hardly_count_are_summed_up() -> None:
    found = explain(zoo_run("agnn", "random"), TARGET)
    some = tuple(each._replace(weight=0.002) for each in found.training)
    assert some
    words = replace(found, training=some).in_words()
    assert f"Training nodes have {'1 %' if len(some) > 2 else 'under 1 %'} of it." in words
