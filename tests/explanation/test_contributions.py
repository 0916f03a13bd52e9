"""A logit taken apart: the parts sum to it, and each is what the dense formula says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.explanation import TrainedModel, layer_weights
from agnn.explanation.contributions import Contributions, contributions
from agnn.nn import AGNN, GLN
from properties import as_matrix
from zoo import ZOO
from zoo_models import random_model, zoo_data, zoo_model

KINDS = ("agnn", "gcn", "gln")
COMBINATIONS = np.array([[1.0, 1.0, 0.2], [0.0, -1.0, 0.3], [0.0, 0.0, -0.5]])  # [c, q]


def taken_apart(trained: TrainedModel, node: int) -> tuple[Contributions, NDArray[np.int64]]:
    view = trained.view_of(node)
    weights = layer_weights(trained.model, view)
    return contributions(trained.model, view, weights, COMBINATIONS), view.field.nodes.numpy()


def dense_gates(trained: TrainedModel, node: int, r: int) -> tuple[NDArray, NDArray]:
    """How much of each unit of each node arrives, [n, d], and the units before ReLU."""
    model = trained.model
    layers = layer_weights(model, trained.whole_view())
    P = [as_matrix(trained.graph, each)[r].double().numpy() for each in layers]
    Z = trained.data.normalised_features().toarray().astype(float) @ dense(model.first.weight, r)
    if isinstance(model, AGNN):
        Z = Z + dense(model.first.bias, r)
        return np.linalg.multi_dot(P[::-1])[node][:, None] * (Z > 0), Z
    active = np.ones_like(Z) if isinstance(model, GLN) else P[0] @ Z > 0
    return np.einsum("k,kj,ku->ju", P[1][node], P[0], active), Z


def dense(parameter: torch.Tensor, r: int) -> NDArray:
    return parameter[r].detach().double().numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ZOO)
def test_the_parts_sum_to_the_models_logits(kind: str, name: str) -> None:
    trained = zoo_model(kind, name)
    for node in {0, ZOO[name].nodes // 2, ZOO[name].nodes - 1}:
        found, _ = taken_apart(trained, node)
        with torch.no_grad():
            logits = trained.model(trained.whole_view())[:, node].double().mean(0).numpy()
        expected = logits @ COMBINATIONS
        assert found.nodes.sum(1) + found.constant == pytest.approx(expected, abs=2e-5)
        whole = found.features.sum(1) + found.bias + found.constant
        assert whole == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["random", "lopsided", "zero row", "one node"])
def test_each_node_and_feature_adds_what_the_dense_formula_says(kind: str, name: str) -> None:
    trained, node = zoo_model(kind, name), ZOO[name].nodes - 1
    model, X = trained.model, trained.data.normalised_features().toarray().astype(float)
    at_nodes, at_features, own = 0.0, 0.0, 0.0
    for r in range(2):
        G, Z = dense_gates(trained, node, r)
        W0, W1 = dense(model.first.weight, r), dense(model.last.weight, r) @ COMBINATIONS
        at_nodes = at_nodes + np.einsum("ju,ju,uq->qj", G, Z, W1) / 2
        at_features = at_features + np.einsum("jf,ju,fu,uq->qf", X, G, W0, W1) / 2
        own = own + np.einsum("f,u,fu,uq->qf", X[node], G[node], W0, W1) / 2
    found, nodes = taken_apart(trained, node)
    assert found.nodes == pytest.approx(at_nodes[:, nodes], abs=1e-5)
    assert np.delete(at_nodes, nodes, axis=1) == pytest.approx(0.0)
    assert found.features == pytest.approx(at_features, abs=1e-5)
    assert found.own_features == pytest.approx(own, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_features_are_taken_apart_as_dense_ones(kind: str) -> None:
    """The zoo's features are dense; the same numbers among many empty columns are sparse."""
    data = zoo_data("random")
    wide = np.zeros((200, 90))
    wide[:, :9] = data.normalised_features().toarray()
    model, wider = random_model(kind), random_model(kind)
    weight = torch.zeros(2, 90, 5)
    weight[:, :9] = model.first.weight.detach()
    wider.first.weight = torch.nn.Parameter(weight)
    other = NodeData.build(
        name="wide", features=wide, labels=data.labels, edges=data.edges,
        class_names=data.class_names,
    )  # fmt: skip
    found, _ = taken_apart(TrainedModel(wider, other), 17)
    expected, _ = taken_apart(TrainedModel(model, data), 17)
    assert found.nodes == pytest.approx(expected.nodes, abs=1e-6)
    assert found.features[:, :9] == pytest.approx(expected.features, abs=1e-6)
    assert not found.features[:, 9:].any()
