"""What onnxruntime computes from an exported model is what torch computes from the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from agnn.data import NodeData
from agnn.data.scaling import SCALINGS
from agnn.errors import InputError
from agnn.graph import Graph, features_of
from agnn.metrics import Ensemble
from agnn.networks import NodeModel
from agnn.networks._layers import Beta
from agnn.onnx import _model, export_run, onnx_model
from agnn.runs import Run, evaluate
from agnn.training import probabilities
from built_models import AGNN, APPNP, GAT, GCN, GCNII, GLN, MLP, AGNNPlus, MoNet
from properties import dense_attention, fresh_python
from zoo import ZOO, Specimen, random_pairs

SEEDS = (0, 1, 2)
WIDTH, CLASSES = 9, 4
BETAS = (Beta(0.0, learned=False), Beta(1.3), Beta(-0.8))
MODELS: dict[str, Callable[[int, int], NodeModel]] = {
    "agnn": lambda features, classes: AGNN(features, classes, SEEDS, betas=BETAS),
    "agnn, large beta": lambda features, classes: AGNN(features, classes, betas=[Beta(200.0)]),
    "agnn_plus": lambda features, classes: AGNNPlus(features, classes, SEEDS, betas=BETAS),
    "agnn_plus, ReLU after the hops": lambda features, classes: AGNNPlus(
        features, classes, SEEDS, betas=BETAS, relu_after_hops=True
    ),
    "gcn": lambda features, classes: GCN(features, classes, SEEDS),
    "gln": lambda features, classes: GLN(features, classes, SEEDS),
    "appnp": lambda features, classes: APPNP(features, classes, SEEDS, steps=3),
    "gcnii": lambda features, classes: GCNII(features, classes, SEEDS, layers=3),
    "multilayer_perceptron": lambda features, classes: MLP(features, classes, SEEDS),
}


def trained(name: str, features: int, classes: int) -> NodeModel:
    """A model whose biases and betas are not at their start."""
    model = MODELS[name](features, classes)
    source = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=source)
    return model


def session(
    model: NodeModel, classes: int = CLASSES, temperature: float = 1.0
) -> onnxruntime.InferenceSession:
    """With onnxruntime's default number of threads, as users have it."""
    names = [f"class {k}" for k in range(classes)]
    made = onnx_model(model, names, temperature=temperature)
    return onnxruntime.InferenceSession(made.SerializeToString())


def computed(
    program: onnxruntime.InferenceSession, features: NDArray[np.float32], edges: Tensor
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    mean, each = program.run(None, {"features": features, "edge_index": edges.numpy()})
    return mean, each


def both_directions(graph: Graph) -> Tensor:
    return torch.stack([graph.senders, graph.receivers])


def features_for(specimen: Specimen) -> NDArray[np.float32]:
    return specimen.states(1, WIDTH, torch.float32)[0].numpy()


@pytest.mark.parametrize("name", MODELS)
def test_one_file_serves_graphs_of_every_size(name):
    model = trained(name, WIDTH, CLASSES)
    program = session(model)
    for kind, specimen in ZOO.items():
        x, graph = features_for(specimen), specimen.graph()
        expected = probabilities(model, features_of(csr_array(x)), graph).numpy()
        mean, each = computed(program, x, both_directions(graph))
        np.testing.assert_allclose(each, expected, atol=1e-5, rtol=0, err_msg=kind)
        np.testing.assert_allclose(mean, expected.mean(0), atol=1e-5, rtol=0, err_msg=kind)


@pytest.mark.parametrize("name", MODELS)
def test_on_cora_too(name, cora: NodeData, cora_graph):
    model = trained(name, cora.feature_count, cora.classes)
    x = cora.scaled_features("sum")
    expected = probabilities(model, features_of(x), cora_graph).numpy()
    dense = x.toarray().astype(np.float32)
    program = session(model, cora.classes)
    mean, each = computed(program, dense, both_directions(cora_graph))
    np.testing.assert_allclose(each, expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(mean, expected.mean(0), atol=1e-5, rtol=0)


def test_a_thousand_calls_with_several_threads_agree():
    """Where several threads add to one place, some of its terms are lost."""
    star = Specimen(2000, tuple((0, i) for i in range(1, 2000)))
    model = AGNN(WIDTH, CLASSES, SEEDS, betas=[Beta(1.3)])
    assert_calls_agree(model, features_for(star), star.graph(), calls=1000)


@pytest.mark.parametrize("name", ["agnn", "gcn"])
def test_calls_on_cora_with_several_threads_agree(name, cora: NodeData, cora_graph):
    model = trained(name, cora.feature_count, cora.classes)
    x = cora.scaled_features("sum").toarray().astype(np.float32)
    assert_calls_agree(model, x, cora_graph, calls=20)


def assert_calls_agree(model: NodeModel, x: NDArray[np.float32], graph: Graph, calls: int) -> None:
    expected = probabilities(model, features_of(csr_array(x)), graph).numpy()
    made = onnx_model(model, ["a"] * expected.shape[2]).SerializeToString()
    program = onnxruntime.InferenceSession(made)
    edges = both_directions(graph)
    for _ in range(calls):
        _, each = computed(program, x, edges)
        np.testing.assert_allclose(each, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["agnn", "gcn"])
def test_the_order_of_the_edges_changes_no_bit(name):
    specimen = ZOO["random"]
    program, edges = session(trained(name, WIDTH, CLASSES)), both_directions(specimen.graph())
    shuffled = edges[:, torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(3))]
    for one, other in zip(
        computed(program, features_for(specimen), edges),
        computed(program, features_for(specimen), shuffled),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_a_node_with_very_many_neighbours_is_no_exception():
    hub = Specimen(5000, tuple((0, i) for i in range(1, 5000)) + random_pairs(5000, 100, seed=1))
    model, x, graph = trained("agnn", WIDTH, CLASSES), features_for(hub), hub.graph()
    assert_calls_agree(model, x, graph, calls=1)


@pytest.mark.parametrize("temperature", [0.25, 1.0, 4.0])
def test_the_probabilities_are_those_of_the_ensemble_at_its_temperature(temperature):
    specimen, model = ZOO["random"], trained("agnn", WIDTH, CLASSES)
    program = session(model, temperature=temperature)
    mean, each = computed(program, features_for(specimen), both_directions(specimen.graph()))
    expected = Ensemble.of_scores(torch.from_numpy(each), temperature).probabilities
    np.testing.assert_allclose(mean, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("scaling", "order"), [("sum", 1), ("length", 2)])
def test_the_file_scales_the_rows_of_its_features(scaling, order):
    specimen, model = ZOO["random"], trained("agnn", WIDTH, CLASSES)
    made = onnx_model(model, ["a"] * CLASSES, scaling=scaling).SerializeToString()
    x = np.abs(features_for(specimen))
    x[3] = 0.0  # stays zero
    size = np.linalg.norm(x, order, axis=1, keepdims=True)
    scaled = (x / np.where(size > 0, size, 1.0)).astype(np.float32)
    edges = both_directions(specimen.graph())
    expected = computed(session(model), scaled, edges)
    for given in (x, 7.0 * x, scaled):  # rows that are scaled already do not change
        found = computed(onnxruntime.InferenceSession(made), given, edges)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5, rtol=0)


def test_the_exported_model_is_the_papers_formula():
    specimen = ZOO["lopsided"]
    model = trained("agnn", WIDTH, CLASSES)
    _, each = computed(session(model), features_for(specimen), both_directions(specimen.graph()))
    x = torch.from_numpy(features_for(specimen))
    for r in range(len(SEEDS)):
        h = (x @ model.first.weight[r] + model.first.bias[r]).relu()
        for layer in model.layers:
            h = dense_attention(specimen.neighbourhoods(), h, layer.beta[r]) @ h
        expected = (h @ model.last.weight[r] + model.last.bias[r]).softmax(-1)
        np.testing.assert_allclose(each[r], expected.detach().numpy(), atol=1e-5, rtol=0)


def test_states_that_are_all_zero_have_cosine_0():
    specimen, model = ZOO["lopsided"], trained("agnn", WIDTH, CLASSES)
    with torch.no_grad():
        model.first.bias[0] = -100.0  # the first replica's ReLU lets nothing through
    x, graph = features_for(specimen), specimen.graph()
    _, each = computed(session(model), x, both_directions(graph))
    expected = model.last.bias[0].softmax(-1).detach().expand(specimen.nodes, -1)
    np.testing.assert_allclose(each[0], expected.numpy(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["agnn", "gcn"])
def test_self_loops_in_the_edges_change_nothing(name):
    specimen = ZOO["path"]
    program, edges = session(trained(name, WIDTH, CLASSES)), both_directions(specimen.graph())
    loops = torch.tensor([[1, 4, 4], [1, 4, 4]])
    without = computed(program, features_for(specimen), edges)
    given = computed(program, features_for(specimen), torch.cat([loops, edges], dim=1))
    for one, other in zip(without, given, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


def test_the_file_names_the_classes():
    properties = session(trained("gcn", WIDTH, CLASSES)).get_modelmeta().custom_metadata_map
    assert json.loads(properties["class_names"]) == ["class 0", "class 1", "class 2", "class 3"]


def test_a_chain_with_a_link_that_onnx_cannot_hold_is_refused_by_its_name():
    with pytest.raises(InputError, match="GAT cannot be exported: AdditiveAttention has no form"):
        onnx_model(GAT(WIDTH, CLASSES), ["a"] * CLASSES)
    with pytest.raises(
        InputError, match="MoNet cannot be exported: MixtureSum has no form in ONNX"
    ):
        onnx_model(MoNet(WIDTH, CLASSES), ["a"] * CLASSES)


def test_a_model_too_large_for_one_file_is_refused(monkeypatch):
    monkeypatch.setattr(_model, "_LARGEST", 100)
    with pytest.raises(InputError, match="GiB of weights, and an ONNX file holds less than 2"):
        onnx_model(trained("gcn", WIDTH, CLASSES), ["a"] * CLASSES)


def test_without_onnx_the_error_names_the_command_to_install_it():
    program = (
        "import sys; sys.modules['onnx'] = None\n"
        "from agnn.errors import UnavailableError\n"
        "from agnn.networks import GCN\nfrom agnn.onnx import onnx_model\n"
        "try:\n    onnx_model(GCN().build(3, 2), ['a', 'b'])\n"
        "except UnavailableError as error:\n    print(error)\n"
    )
    assert "pip install 'agnn[onnx]'" in fresh_python(program)


def own_data(name: str, seed: int, size: float, *, is_signed: bool = False) -> NodeData:
    """Numbers of very different sizes, a constant column and a row of zeros."""
    source = np.random.default_rng(seed)
    x = source.integers(1, 5, (60, WIDTH)) * 10.0 ** np.linspace(-3, 4, WIDTH)
    x[:, 0] = 1e6 + source.integers(0, 9, 60)
    x[:, 1] = 3.0
    x[:, 2] *= -1.0 if is_signed else 1.0
    x[5] = 0.0
    return NodeData.build(
        name=name,
        features=csr_array((size * x).astype(np.float32)),
        labels=np.arange(60) % 3,
        edges=source.integers(0, 60, (2, 90)),
        class_names=("a", "b", "c"),
    )


def exported(run: Run, data: NodeData, path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """What the file of a run computes for the raw features of some data."""
    export_run(run, path)
    program = onnxruntime.InferenceSession(path)
    edges = both_directions(Graph.from_edges(data.edges, data.nodes))
    return computed(program, data.features.toarray(), edges)


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", ["agnn", "agnn_plus", "gcn"])
def test_a_file_reads_raw_features_and_scales_them_as_its_run(name, scaling, is_signed, tmp_path):
    is_unscaled = scaling == "none" or (scaling == "sum" and is_signed)
    size = 1e-6 if is_unscaled else 1.0  # float32 has few digits for logits of unscaled features
    data = own_data("mine", 0, size, is_signed=is_signed)
    changes = {"epochs": 3, "scaling": scaling}
    run = evaluate(name, data, "stratified", (0, 1), changes=changes)
    mean, each = exported(run, data, tmp_path / "own.onnx")
    np.testing.assert_allclose(each, run.scores.numpy(), atol=1e-5, rtol=0)
    np.testing.assert_allclose(mean, run.probabilities, atol=1e-5, rtol=0)
    other = own_data("other", 1, size)  # not signed: the training data decide
    mean, _ = exported(run, other, tmp_path / "other.onnx")
    np.testing.assert_allclose(mean, run.predict_graph(other).probabilities, atol=1e-5, rtol=0)


def test_the_mean_of_a_file_is_over_the_members_of_the_ensemble(toy: NodeData, tmp_path):
    run = evaluate("agnn", toy, "fixed", (0, 1, 2), changes={"epochs": 5})
    history = replace(run.history, diverged_epochs=torch.tensor([0, 2, 0]))
    run = replace(run, history=history)
    mean, each = exported(run, toy, tmp_path / "model.onnx")
    assert each.shape[0] == 3
    np.testing.assert_allclose(mean, run.probabilities, atol=1e-5, rtol=0)
    everyone = replace(run, history=None, known=run.known._replace(temperature=run.temperature))
    assert np.abs(everyone.probabilities - mean).max() > 1e-4


def test_standardised_features_need_the_statistics_of_the_training_data():
    model, zeros = trained("gcn", WIDTH, CLASSES), np.zeros(WIDTH)
    with pytest.raises(InputError, match="'standard', and no other, needs `statistics`"):
        onnx_model(model, ["a"] * CLASSES, scaling="standard")
    with pytest.raises(InputError, match="'standard', and no other, needs `statistics`"):
        onnx_model(model, ["a"] * CLASSES, scaling="sum", statistics=(zeros, zeros))
    with pytest.raises(InputError, match="unknown scaling 'size'"):
        onnx_model(model, ["a"] * CLASSES, scaling="size")
