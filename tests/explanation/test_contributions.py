"""A logit taken apart: the parts sum to it, and each is what the dense formula says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.explanation import HeldLogits
from agnn.explanation._contributions import Contributions
from agnn.explanation._reach import layer_weights
from agnn.kernels import Attention, holding, is_holding
from agnn.networks._agnn import AGNNModel
from agnn.runs import Run
from properties import as_matrix
from toy_runs import run_of
from zoo import ZOO
from zoo_models import EXPLAINED, random_model, zoo_data, zoo_model

KINDS = ("agnn", "gcn", "gln")
COMBINATIONS = np.array([[1.0, 1.0, 0.2], [0.0, -1.0, 0.3], [0.0, 0.0, -0.5]])  # [c, q]


def taken_apart(trained: Run, node: int) -> tuple[Contributions, NDArray[np.int64]]:
    view = trained.view_of(node)
    held = HeldLogits.of(trained.network, view)
    return held.contributions(COMBINATIONS), view.field.nodes.numpy()


def dense_gates(trained: Run, node: int, r: int) -> tuple[NDArray, NDArray]:
    """How much of each unit of each node arrives, [n, d], and the units before ReLU."""
    model = trained.network
    layers = layer_weights(model, trained.whole_view())
    P = [as_matrix(trained.graph, each)[r].double().numpy() for each in layers]
    Z = trained.data.scaled_features("sum").toarray().astype(float) @ dense(model.first.weight, r)
    if isinstance(model, AGNNModel):
        Z = Z + dense(model.first.bias, r)
        return np.linalg.multi_dot(P[::-1])[node][:, None] * (Z > 0), Z
    active = np.ones_like(Z) if model.title == "GLN" else P[0] @ Z > 0
    return np.einsum("k,kj,ku->ju", P[1][node], P[0], active), Z


def dense(parameter: torch.Tensor, r: int) -> NDArray:
    return parameter[r].detach().double().numpy()


@pytest.mark.parametrize("kind", EXPLAINED)
@pytest.mark.parametrize("name", ZOO)
def test_the_parts_sum_to_the_models_logits(kind: str, name: str) -> None:
    trained = zoo_model(kind, name)
    for node in {0, ZOO[name].nodes // 2, ZOO[name].nodes - 1}:
        found, _ = taken_apart(trained, node)
        with torch.no_grad():
            logits = trained.network(trained.whole_view())[:, node].double().mean(0).numpy()
        expected = logits @ COMBINATIONS
        assert found.nodes.sum(1) + found.constant == pytest.approx(expected, rel=5e-6, abs=2e-5)
        whole = found.features.sum(1) + found.bias + found.constant
        assert whole == pytest.approx(expected, rel=5e-6, abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["random", "lopsided", "zero row", "one node"])
def test_each_node_and_feature_adds_what_the_dense_formula_says(kind: str, name: str) -> None:
    trained, node = zoo_model(kind, name), ZOO[name].nodes - 1
    model, X = trained.network, trained.data.scaled_features("sum").toarray().astype(float)
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
    wide[:, :9] = data.scaled_features("sum").toarray()
    model, wider = random_model(kind), random_model(kind)
    weight = torch.zeros(2, 90, 5)
    weight[:, :9] = model.first.weight.detach()
    wider.first.weight = torch.nn.Parameter(weight)
    other = NodeData.build(
        name="wide", features=wide, labels=data.labels, edges=data.edges,
        class_names=data.class_names,
    )  # fmt: skip
    found, _ = taken_apart(run_of(wider, other), 17)
    expected, _ = taken_apart(run_of(model, data), 17)
    assert found.nodes == pytest.approx(expected.nodes, abs=1e-6)
    assert found.features[:, :9] == pytest.approx(expected.features, abs=1e-6)
    assert not found.features[:, 9:].any()


# Their propagation weights do not depend on the states, so holding them changes no gradient.
FIXED = ("gcn", "gln", "appnp", "gcnii", "graph_cnn", "monet")


@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize("name", ["random", "lopsided", "zero row", "one node"])
def test_features_and_biases_add_gradient_times_weight(kind: str, name: str) -> None:
    """In a piecewise linear network feature f adds sum_u W_fu dL/dW_fu, here by autograd."""
    trained, node = zoo_model(kind, name), ZOO[name].nodes - 1
    model, found = trained.network, taken_apart(trained, node)[0]
    for q, combination in enumerate(torch.tensor(COMBINATIONS.T, dtype=torch.float32)):
        model.zero_grad()
        logits = model(trained.view_of(node))[:, 0]  # [R, c]
        (logits @ combination).mean().backward()
        weight = model.first.weight
        expected = (weight * weight.grad).sum((0, 2)).detach().numpy()
        assert found.features[q] == pytest.approx(expected, abs=2e-5)
        bias = model.first.bias
        by_bias = 0.0 if bias is None else float((bias.detach() * bias.grad).sum())
        assert found.bias[q] == pytest.approx(by_bias, abs=2e-5)


@pytest.mark.parametrize("name", ["random", "lopsided", "zero row", "one node"])
def test_gat_adds_head_by_head_what_the_dense_formula_says(name: str) -> None:
    """Attention held; ELU counts as ELU(z) / z at every unit of every middle node."""
    trained, node = zoo_model("gat", name), ZOO[name].nodes - 1
    model, n = trained.network, trained.data.nodes
    X = trained.data.scaled_features("sum").toarray().astype(float)
    by_layer = model.attentions(trained.whole_view())
    at_nodes, constant = np.zeros((3, n)), np.zeros(3)
    for r in range(2):
        P, Q = (
            np.stack(
                [as_matrix(trained.graph, Attention(p.edges[..., k], p.loops[..., k]))[r]
                 for k in range(2)]
            ).astype(float)
            for p in by_layer
        )  # fmt: skip
        first = (X @ dense(model.first.weight, r)).reshape(n, 3, 2)  # [n, f, k]
        bias = dense(model.first_attention.bias, r).reshape(3, 2)
        inside = np.einsum("kij,jfk->ifk", P, first) + bias
        gate = np.where(inside > 0, 1.0, np.expm1(inside) / inside)
        last = dense(model.last.weight, r).reshape(3, 2, 3, 2)  # [f, k, c, k']
        sums = np.einsum("hi,ifk,fkch->ifkc", Q[:, node], gate, last) / 2  # at middle node i
        sums = np.einsum("ifkc,cq->ifkq", sums, COMBINATIONS)
        at_nodes += np.einsum("ifkq,kij,jfk->qj", sums, P, first) / 2
        ending = dense(model.last_attention.bias, r).reshape(3, 2).mean(1) @ COMBINATIONS
        constant += (np.einsum("ifkq,fk->q", sums, bias) + ending) / 2
    found, nodes = taken_apart(trained, node)
    assert found.nodes == pytest.approx(at_nodes[:, nodes], abs=1e-5)
    assert found.constant == pytest.approx(constant, abs=1e-5)


def test_a_mean_over_hops_is_a_part_of_what_each_node_adds() -> None:
    """The sum over nodes is the output layer's view of the mean of all states."""
    trained, node = zoo_model("agnn_plus", "random"), 17
    found, _ = taken_apart(trained, node)
    model, X = trained.network, trained.data.scaled_features("sum").toarray().astype(float)
    expected = np.zeros(3)
    for r in range(2):
        H = np.maximum(X @ dense(model.first.weight, r) + dense(model.first.bias, r), 0)
        states = [H]
        for each in layer_weights(model, trained.whole_view()):
            states.append(as_matrix(trained.graph, each)[r].double().numpy() @ states[-1])
        logits = np.mean([state[node] for state in states], axis=0) @ dense(model.last.weight, r)
        expected += (logits + dense(model.last.bias, r)) @ COMBINATIONS / 2
    assert found.nodes.sum(1) + found.constant == pytest.approx(expected, abs=2e-5)
    bias = np.mean([dense(model.last.bias, r) for r in range(2)], axis=0)
    assert found.constant == pytest.approx(bias @ COMBINATIONS, abs=2e-5)


def test_holding_ends_with_its_block_and_changes_no_output() -> None:
    trained = zoo_model("gat", "random")
    view = trained.view_of(3)
    with torch.no_grad():
        plain = trained.network(view)
        with holding() as held:
            assert torch.allclose(trained.network(view), plain, atol=1e-6)
        assert not is_holding()
        assert torch.equal(trained.network(view), plain)
    assert [hop.edges.shape[-1] for hop in held.hops] == [2, 2], "one weight per head"


@pytest.mark.parametrize("kind", EXPLAINED)
def test_without_biases_the_nodes_alone_make_the_logits(kind: str) -> None:
    """What is left over is the constant, so the sum alone would hide weights that are not held."""
    model = random_model(kind)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    found, _ = taken_apart(run_of(model, zoo_data("random")), 17)
    assert np.abs(found.nodes).sum() > 0.01
    assert found.constant == pytest.approx(0.0, abs=2e-5)
