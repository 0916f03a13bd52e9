"""The multilayer perceptron against its formula, and that no neighbour reaches it."""

from __future__ import annotations

import pytest
import torch

from agnn.graph import Graph, SparseFeatures, View
from built_models import MLP
from properties import CPU_BACKENDS, assert_close, assert_same_bits


def parts(toy):
    return SparseFeatures.from_scipy(toy.scaled_features("sum")), Graph.from_edges(toy.edges, 120)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_logits_are_two_layers_with_a_relu_between(toy, backend, has_bias):
    features, graph = parts(toy)
    model = MLP(30, 3, (0, 1), hidden=7, has_bias=has_bias, backend=backend)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-1, 1, generator=torch.Generator().manual_seed(parameter.numel()))
    x = torch.tensor(toy.scaled_features("sum").toarray())
    first, last = (
        (layer.weight, layer.bias[:, None] if has_bias else 0.0)
        for layer in (model.first, model.last)
    )
    hidden = torch.relu(x @ first[0] + first[1])
    view = View.whole(features, graph, 0)
    assert_close(model.hidden_states(view), hidden, 1e-5)
    assert_close(model(view), hidden @ last[0] + last[1], 1e-5)


def test_only_the_targets_are_looked_at(toy):
    features, graph = parts(toy)
    model = MLP(30, 3, (0,))
    nodes = torch.tensor([5, 40, 99])
    view = View.around(features, graph, nodes, 0)
    assert view.features.rows == 3
    assert_same_bits(model(view), model(View.whole(features, graph, 0))[:, nodes])
