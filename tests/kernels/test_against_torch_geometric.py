"""One layer beside torch_geometric's AGNNConv, the peer most people know."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor

from agnn.kernels import cosine_attention
from properties import CPU_BACKENDS, assert_close, gradients
from zoo import ZOO, zoo_graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what importing a peer warns of is not our concern
    geometric = pytest.importorskip(
        "torch_geometric.nn", reason="torch_geometric is not installed: pip install agnn[test]"
    )


@pytest.mark.parametrize("beta", [1.0, 4.0, -2.0])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_layer_equals_agnnconv_in_output_and_gradients(backend, beta):
    graph, h = zoo_graph("random"), ZOO["random"].states(1, 16)  # connected, no zero row
    peer = geometric.AGNNConv(requires_grad=True, add_self_loops=True)
    edge_index = torch.stack([graph.senders, graph.receivers])  # theirs is (from, to)

    def theirs(h: Tensor, b: Tensor) -> Tensor:
        return torch.func.functional_call(peer, {"beta": b}, (h[0], edge_index))[None]

    b = torch.tensor([beta], dtype=torch.float64)
    expected = gradients(theirs, (h, b))
    found = gradients(lambda h, b: cosine_attention(graph, h, b, backend=backend), (h, b))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-10)
