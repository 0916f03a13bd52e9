"""Every network says by which matrices it propagates, or why that cannot be said."""

from __future__ import annotations

import pytest
import torch

from agnn.data import NodeData
from agnn.graph import Graph, View, features_of
from agnn.methods import NetworkMethod, get_method, method_names

NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_paths_and_a_linear_form_or_a_reason(name: str, toy: NodeData) -> None:
    method = get_method(name)()
    features = features_of(method.features(toy))
    model = method.build(features.width, toy.classes, (0, 1), "auto")
    graph = Graph.from_edges(toy.edges, toy.nodes)
    view = View.around(features, graph, torch.tensor([60]), model.hops)
    paths, form = model.propagation(view), model.linear_form(view)
    if model.unexplained is not None:
        assert (paths, form) == (None, None)
        assert not model.unexplained.endswith(".")
        return
    assert len(paths.hops) == len(form.units) == model.hops == len(paths.combination) - 1
    for hop, rows in zip(paths.hops, view.field.sizes[-2::-1], strict=True):
        assert hop.attention.loops.shape == (2, rows)
        assert hop.attention.edges.shape == (2, view.field.graph.edges_of(rows))
        if paths.is_attention:
            sums = row_sums(view, hop.attention)
            assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def row_sums(view: View, attention: object) -> torch.Tensor:
    receivers = view.field.graph.receivers[: attention.edges.shape[1]]
    return attention.loops.index_add(1, receivers, attention.edges)
