"""What a report says about a run, against what can be counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from agnn.data import NodeData, Split
from agnn.explanation import Relevance
from agnn.explanation._reach import layer_weights
from agnn.methods import get_method
from agnn.metrics import Ensemble, apply_temperature
from agnn.report import run_figures
from agnn.report._model_facts import training_facts
from agnn.report._node_facts import Absent, Answers, answers_without_label, certainty
from agnn.report._run_page import data_facts, run_facts
from agnn.report._sections import Section
from agnn.runs import evaluate, load_run, save_run
from agnn.training import History
from toy_runs import run_of

P = [  # the ensemble's probabilities at five nodes
    [0.9, 0.05, 0.05],
    [0.4, 0.35, 0.25],
    [0.1, 0.8, 0.1],
    [0.2, 0.2, 0.6],
    [0.3, 0.3, 0.4],
]


@pytest.fixture
def five() -> NodeData:
    return NodeData.build(
        name="five", features=np.eye(5), labels=[0, 1, 2, 2, -1], edges=[[0], [1]],
        class_names=("a", "b", "c"), node_ids=("v", "w", "x", "y", "z"),
    )  # fmt: skip


@pytest.fixture
def all_tested() -> Split:
    """No toy has test nodes only; one more node to learn from is not needed for looking back."""
    return Split("s", [0], [], [1, 2, 3])


def answers_on_test(scores, data, splits, temperature=1.0):
    return Answers.of(data, *Ensemble.held_out(scores, splits, temperature))


def test_the_confusion_matrix_counts_truth_by_answer(five, all_tested):
    found = answers_on_test(torch.tensor([P]), five, (all_tested,), 1.0)
    assert found.nodes.tolist() == [1, 2, 3]
    # b is taken for a, the first c for b, the second c is right.
    assert found.confusion().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 1]]
    assert found.is_right.tolist() == [False, False, True]


def test_disagreement_is_among_the_replicas_that_test_the_node(five):
    one = torch.tensor(P)
    other = one.roll(1, dims=1)  # answers b, b, c, a, a
    splits = (
        Split("1", [0], [], [1, 2]),
        Split("2", [1], [], [2, 3]),
        Split("3", [2], [], [1]),
    )
    found = answers_on_test(torch.stack([one, other, one]), five, splits, 1.0)
    # On node 2 the two that test it differ; node 1 the second and node 3 the first do not test.
    assert found.disagreement.tolist() == [0.0, 0.5, 0.0]
    np.testing.assert_allclose(found.probabilities[0], P[1], rtol=1e-6)
    np.testing.assert_allclose(found.probabilities[2], other[3], rtol=1e-6)


def test_the_temperature_changes_probabilities_and_no_answer(five, all_tested):
    scores = torch.tensor([P], dtype=torch.float64)
    plain = answers_on_test(scores, five, (all_tested,), 1.0)
    sharp = answers_on_test(scores, five, (all_tested,), 0.5)
    np.testing.assert_allclose(sharp.probabilities, apply_temperature(np.array(P)[1:4], 0.5))
    assert (sharp.classes == plain.classes).all()
    assert (sharp.confidence > plain.confidence).all()


def test_nodes_without_a_label_are_answered_by_all(five):
    found = answers_without_label(Ensemble.of_scores(torch.tensor([P])), five)
    assert found.nodes.tolist() == [4]
    assert found.truth.tolist() == [-1]
    assert found.confusion().sum() == 0


def test_the_surest_come_first_and_mistakes_by_their_probability(five, all_tested):
    found = certainty(answers_on_test(torch.tensor([P]), five, (all_tested,), 1.0), five, 2)
    assert found.nodes == 3
    assert [row.id for row in found.most] == ["x", "y"]
    assert [row.id for row in found.least] == ["w", "y"]
    assert [(row.id, row.answer, row.truth) for row in found.mistakes] == [
        ("x", "b", "c"),
        ("w", "a", "b"),
    ]
    assert found.most[0].probability == pytest.approx(0.8)
    assert found.least[0].second == "b"
    assert [row.is_right for row in found.most] == [False, True]


def test_a_node_without_a_label_is_neither_right_nor_wrong(five):
    found = certainty(answers_without_label(Ensemble.of_scores(torch.tensor([P])), five), five, 2)
    assert found.mistakes == ()
    assert (found.most[0].truth, found.most[0].is_right) == (None, None)


def test_classes_are_counted_by_part(five):
    found = data_facts(five, (Split("s", [0], [1], [2, 3]),) * 2)
    rows = [(row.name, row.labelled, row.train, row.validation, row.test) for row in found.classes]
    assert rows == [("a", 1, 1, 0, 0), ("b", 1, 0, 1, 0), ("c", 2, 0, 0, 2)]
    assert found.splits == 1
    assert data_facts(five, (Split("s", [0], [], []), Split("s", [1], [], []))).splits == 2


@pytest.fixture(scope="module")
def run(named_toy):
    return evaluate(get_method("agnn")(epochs=8, layers=3, first_beta=0.0), named_toy, seeds=(0, 1))


@pytest.fixture(scope="module")
def facts(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("facts") / "run"
    save_run(run, folder)
    opened = load_run(folder)
    return run_facts(opened)


def test_curves_are_means_with_the_lowest_and_highest_replica(run, facts):
    accuracy = 100 * run.history.watched_accuracy.double().numpy()
    np.testing.assert_allclose(facts.training.accuracy.mean, accuracy.mean(1))
    np.testing.assert_allclose(facts.training.accuracy.low, accuracy.min(1))
    np.testing.assert_allclose(facts.training.accuracy.high, accuracy.max(1))
    assert facts.training.part == "validation"
    assert facts.training.kept.values == tuple(run.selected_epochs)
    for r, epoch in enumerate(run.selected_epochs):
        assert facts.training.kept_accuracy[r] == pytest.approx(accuracy[epoch - 1, r])
    assert len(facts.training.betas) == 3
    np.testing.assert_allclose(
        facts.training.betas[2].mean, run.history.betas[:, :, 2].mean(1), rtol=1e-6
    )
    assert [beta.values for beta in facts.betas] == list(zip(*run.betas, strict=True))


def test_the_kept_accuracy_is_that_of_the_kept_epoch():
    watched = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    history = History(watched, watched, watched, torch.tensor([2, 3]), torch.tensor([0, 0]))
    found = training_facts(history, get_method("gcn")())
    assert found.kept_accuracy == pytest.approx((30.0, 60.0))
    assert found.betas == ()


def test_layers_have_the_relevance_and_the_ranking_of_their_definitions(run, facts):
    ranked = Relevance.of(run).rankings(100)
    tables = Relevance.of(run).by_class()
    for layer, ranking, table in zip(facts.attention.layers, ranked, tables, strict=True):
        np.testing.assert_array_equal(layer.relevance, table.numpy())
        assert (layer.ranking.top, layer.ranking.bottom) == (ranking.top, ranking.bottom)
    assert [layer.is_even for layer in facts.attention.layers] == [True, False, False]
    assert facts.attention.listed_layer == 3


def test_listed_edges_are_the_extremes_of_the_mean_relevance(run, facts):
    """Against P of the last layer, node by node: R = P (degree + 1) - 1."""
    trained = run_of(run.model, run.data)
    mean = layer_weights(trained.network, trained.whole_view())[-1].edges.mean(0).tolist()
    degree = np.bincount(run.data.edges.ravel(), minlength=run.data.nodes)
    pairs = zip(trained.graph.receivers.tolist(), trained.graph.senders.tolist(), strict=True)
    found = {
        (run.data.node_ids[i], run.data.node_ids[j]): (p, p * (degree[i] + 1) - 1)
        for (i, j), p in zip(pairs, mean, strict=True)
    }
    values = sorted(relevance for _, relevance in found.values())
    most, least = facts.attention.most, facts.attention.least
    assert [edge.relevance for edge in most] == pytest.approx(values[:-11:-1], abs=1e-5)
    assert [edge.relevance for edge in least] == pytest.approx(values[:10], abs=1e-5)
    for edge in (*most, *least):
        p, relevance = found[edge.receiver, edge.sender]
        assert (edge.attention, edge.relevance) == pytest.approx((p, relevance), abs=1e-5)
        place = run.data.node_ids.index(edge.sender)
        assert edge.sender_class == run.data.class_names[run.data.labels[place]]


def test_probabilities_of_test_nodes_are_the_runs_own_confidence(run, facts):
    """With one split for all replicas every one of them may be asked."""
    whole = run.probabilities
    for row in (*facts.certainty.most, *facts.certainty.least):
        assert row.probability == pytest.approx(whole[row.node].max())


def test_a_node_is_called_sure_only_where_the_explorer_would_list_it_so(facts):
    names = {one.why for one in facts.surroundings}
    assert names  # a model of four epochs is sure of nothing: "right", "wrong", "unsure"
    for one in facts.surroundings:
        assert one.why.startswith("sure") == (one.answer.lead >= 0.6)
        assert one.why != "unsure" or one.answer.lead < 0.2


def test_neighbourhoods_are_of_the_listed_nodes_and_none_twice(facts):
    nodes = [one.answer.node for one in facts.surroundings]
    assert len(set(nodes)) == len(nodes) > 2
    listed = {row.node for row in (*facts.certainty.most, *facts.certainty.least)}
    listed |= {row.node for row in facts.certainty.mistakes}
    assert set(nodes) <= listed
    assert all(one.around.target == one.answer.node for one in facts.surroundings)


def test_the_facts_are_json_with_nothing_lost(facts):
    values = facts.to_dict()
    text = json.dumps(values)
    assert json.loads(text)["accuracy"]["classes"][0]["class"] == "<script>alert(1)</script>"
    assert sum(map(sum, values["confusion"]["counts"])) == values["confidence"]["test_nodes"] == 50
    assert "sha256" not in values["run"]


def test_ids_that_are_numpys_numbers_are_json_too(named_toy):
    data = replace(named_toy, node_ids=tuple(np.arange(named_toy.nodes)))
    run = evaluate(get_method("agnn")(epochs=3, layers=1), data, seeds=(0, 1))
    values = run_facts(run).to_dict()
    again = json.loads(json.dumps(values, allow_nan=False))
    assert type(again["test_nodes"]["most"][0]["id"]) is int
    assert type(again["neighbourhoods"][0]["nodes"][0]["id"]) is int


def absent(part: object) -> str:
    assert isinstance(part, Absent)
    assert part.to_dict() == {"absent": part.reason}
    assert part.reason.endswith(".")
    return part.reason


@pytest.mark.parametrize("name", ["gcn", "label_propagation", "multilayer_perceptron"])
def test_a_method_without_attention_says_so(name, named_toy, tmp_path):
    method = get_method(name)()
    short = method.with_fields(epochs=3) if hasattr(method, "epochs") else method
    save_run(evaluate(short, named_toy, seeds=(0, 1)), tmp_path / "run")
    opened = load_run(tmp_path / "run")
    found = run_facts(opened)
    assert method.title in absent(found.attention)
    assert isinstance(found.surroundings, Absent) == (name != "gcn")
    if name == "label_propagation":
        assert "not trained epoch by epoch" in absent(found.training)
    json.dumps(found.to_dict())


def test_gat_has_attention_too(named_toy, tmp_path):
    save_run(evaluate(get_method("gat")(epochs=3), named_toy, seeds=(0, 1)), tmp_path / "run")
    opened = load_run(tmp_path / "run")
    found = run_facts(opened)
    assert [layer.layer for layer in found.attention.layers] == [1, 2]
    assert len(found.surroundings) > 1


def test_an_older_folder_without_epochs_says_so(run, tmp_path):
    save_run(run, tmp_path / "run")
    (tmp_path / "run" / "history.safetensors").unlink()
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    del config["sha256"]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    saved = load_run(tmp_path / "run", trust_unchecked=True)
    found = training_facts(saved.history, saved.method)
    assert "did not keep its epochs" in absent(found)


def test_a_run_without_test_nodes_shows_what_it_can(run):
    """No verb makes one; a folder from elsewhere may hold one."""
    blank = tuple(Split("s", split.train, split.validation, []) for split in run.splits)
    opened = replace(run, splits=blank)
    found = run_facts(opened)
    assert "no test nodes" in absent(found.certainty)
    assert absent(found.unlabelled) == "Every node has a label."
    assert "neither a test node nor" in absent(found.surroundings)
    assert (found.result.accuracy, found.result.interval) == (None, None)


def test_a_graph_whose_labelled_nodes_share_no_edge_has_no_ranking():
    data = NodeData.build(
        name="star", features=np.eye(9), labels=[-1, 0, 1, 0, 1, 0, 1, 0, 1],
        edges=[[0] * 8, range(1, 9)], class_names=("a", "b"),
        splits={"fixed": Split("fixed", [1, 2], [3, 4], [5, 6, 7, 8])},
    )  # fmt: skip
    run = evaluate(get_method("agnn")(epochs=2, layers=1), data)
    found = run_facts(run)
    assert found.attention.layers[0].ranking is None
    assert found.attention.most == found.attention.least == ()
    assert found.unlabelled.nodes == 1


def test_a_section_is_declared_once(named_toy, monkeypatch):
    """What an entry computes, draws and adds to the JSON is all there is to it."""
    own = Section(
        "oldest", "The first node",
        computed=lambda run: run.data.node_ids[0],
        figures=lambda facts: iter([("oldest", (Figure(), f"{facts.more['oldest']}"))]),
        values=lambda facts: {"oldest": facts.more["oldest"]},
    )  # fmt: skip
    for module in ("_run_page", "_sections"):
        monkeypatch.setattr(f"agnn.report.{module}.SECTIONS", (own,))
    run = evaluate(get_method("agnn")(epochs=2, layers=1), named_toy, seeds=(0,))
    found = run_facts(run)
    assert found.to_dict()["oldest"] == str(named_toy.node_ids[0])
    assert list(run_figures(found)) == ["oldest"]
