"""Networks state by which matrices they propagate, or why not; SGC and diverged replicas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation import HeldLogits, Neighbourhood, explain, explained_run, without_edges
from agnn.graph import Graph, Propagation, View, features_of
from agnn.methods import NetworkMethod, get_method, method_names
from agnn.runs import KnownResults, Run, evaluate

NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_paths_and_is_taken_apart_or_has_a_reason(name: str, toy: NodeData) -> None:
    method = get_method(name)()
    features = features_of(method.features(toy))
    model = method.build(features.width, toy.classes, (0, 1), "auto")
    graph = Graph.from_edges(toy.edges, toy.nodes)
    view = View.around(features, graph, torch.tensor([60]), model.hops)
    if model.unexplained is not None:
        assert name in {
            "separated", "sgc", "dcnn", "grand", "multilayer_perceptron",
            "semi_supervised_embedding",
        }  # fmt: skip
        assert not model.unexplained.endswith(".")
        return
    paths = model.propagation(view)
    assert len(paths.hops) == model.hops == len(paths.combination) - 1
    held = HeldLogits.of(model, view)
    first_class = np.eye(toy.classes)[0]
    nodes, constant = held.node_contributions(first_class, held.replicas)
    with torch.no_grad():
        logit = float(model(view)[:, 0, 0].mean())
    assert nodes.sum() + constant == pytest.approx(logit, abs=1e-5)
    has_bias = any("bias" in name for name, _ in model.named_parameters())
    assert has_bias or constant == 0.0
    for hop, rows in zip(paths.hops, view.field.sizes[-2::-1], strict=True):
        assert hop.attention.loops.shape == (2, rows)
        assert hop.attention.edges.shape == (2, view.field.graph.edges_of(rows))
        if paths.is_attention:
            sums = row_sums(view, hop.attention)
            assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def row_sums(view: View, attention: object) -> torch.Tensor:
    receivers = view.field.graph.receivers[: attention.edges.shape[1]]
    return attention.loops.index_add(1, receivers, attention.edges)


@pytest.fixture(scope="module")
def sgc(toy: NodeData) -> Run:
    return evaluate(get_method("sgc")(epochs=20), toy, "fixed", seeds=(0, 1))


def test_sgc_is_explained_by_an_equal_model_that_propagates(sgc: Run) -> None:
    equal = explained_run(sgc)
    assert equal is explained_run(sgc), "made once"
    assert equal.network.hops == sgc.method.steps == 2
    with torch.no_grad():
        own = equal.network(equal.whole_view()).softmax(-1)
    assert torch.allclose(own, sgc.scores, atol=1e-5)


def test_the_contributions_of_sgc_are_the_linear_formula(sgc: Run) -> None:
    found = explain(sgc, 60, limit=sgc.data.nodes)
    assert "SGC learns no attention" in found.notes[0]
    X = sgc.data.scaled_features("sum").toarray()
    P = Propagation.symmetric(sgc.graph, torch.float64).matrix().toarray()
    weight = sgc.network.first.weight.detach().double().mean(0).numpy()
    over = weight[:, found.answer] - weight[:, found.second]
    for each in (found.itself, *found.neighbours):
        expected = (P @ P)[60, each.node] * (X[each.node] @ over)
        assert each.over_second == pytest.approx(expected, abs=1e-5)


def test_removing_an_edge_of_sgc_is_computed_again(sgc: Run) -> None:
    near = int(sgc.graph.senders[sgc.graph.offsets[60]])
    data = sgc.data
    kept = ~(np.isin(data.edges, [60, near]).all(0))
    fewer = NodeData.build(
        name="fewer", features=data.features, labels=data.labels, edges=data.edges[:, kept],
        class_names=data.class_names, splits=data.splits,
    )  # fmt: skip
    expected = sgc.ensemble_of(sgc.scores_on(fewer)).probabilities[60]
    assert without_edges(sgc, 60, [(60, near)]) == pytest.approx(expected, abs=1e-5)


@pytest.fixture(scope="module")
def broken(toy: NodeData) -> Run:
    """Three replicas, of which the second diverged and has no finite weights."""
    run = evaluate(get_method("agnn")(epochs=20), toy, "fixed", seeds=(0, 1, 2))
    with torch.no_grad():
        for parameter in run.network.parameters():
            parameter[1] = torch.nan
    history = replace(run.history, diverged_epochs=torch.tensor([0, 5, 0]))
    scores = run.scores.clone()
    scores[1] = torch.nan
    return replace(run, history=history, known=KnownResults(scores))


def with_temperature(run: Run, temperature: float) -> Run:
    return replace(run, known=run.known._replace(temperature=temperature))


def test_a_replica_that_diverged_is_left_out_and_named(broken: Run, toy: NodeData) -> None:
    found = explain(broken, 60)
    assert found.replicas == 2
    assert found.notes[0].startswith("1 of 3 replicas diverged in training and is left out")
    assert np.isfinite(found.probabilities).all()
    assert np.isfinite([each.weight for each in (found.itself, *found.neighbours)]).all()
    sound = evaluate(get_method("agnn")(epochs=20), toy, "fixed", seeds=(0, 2))
    expected = explain(with_temperature(sound, broken.temperature), 60)
    assert found.margin == pytest.approx(expected.margin, abs=1e-5)
    around = Neighbourhood.of(broken, 60, broken.split)
    assert np.isfinite(around.shares).all()
    near = int(broken.graph.senders[broken.graph.offsets[60]])
    assert np.isfinite(without_edges(broken, 60, [(60, near)])).all()


def test_a_run_of_which_every_replica_diverged_is_refused(broken: Run) -> None:
    history = replace(
        broken.history,
        diverged_epochs=torch.tensor([1, 1, 1]),
        selected_epochs=torch.tensor([0, 0, 0]),
    )
    with pytest.raises(InputError, match="every replica of the run diverged in training"):
        explain(with_temperature(replace(broken, history=history), 1.0), 60)
