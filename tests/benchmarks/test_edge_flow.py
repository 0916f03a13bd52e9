"""Attention by edge against dense matrices, and against what it adds up to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.edge_removal import edge_flow

from agnn.explanation._reach import layer_weights
from properties import as_matrix
from zoo import ZOO
from zoo_models import zoo_model


def dense_flow(trained, node: int) -> np.ndarray:
    """[n, n] What a walk from the node takes of each edge in either direction."""
    layers = layer_weights(trained.network, trained.whole_view())
    row = torch.eye(trained.data.nodes, dtype=torch.float64)[node].expand(2, -1)
    total = torch.zeros(trained.data.nodes, trained.data.nodes, dtype=torch.float64)
    for each in reversed(layers):
        P = as_matrix(trained.graph, each).double()
        total += (row[:, :, None] * P).mean(0)
        row = torch.einsum("ri,rij->rj", row, P)
    return (total + total.T).numpy()


@pytest.mark.parametrize("kind", ["agnn", "gcn"])
@pytest.mark.parametrize("name", ["random", "lopsided", "path", "two components"])
def test_it_is_the_walks_use_of_each_edge_the_most_used_first(kind: str, name: str) -> None:
    trained, node = zoo_model(kind, name), ZOO[name].nodes // 2
    found, dense = edge_flow(trained, node), dense_flow(trained, node)
    i, j = found.pairs.T
    assert (i < j).all()
    assert found.flow == pytest.approx(dense[i, j], abs=1e-7)
    assert (np.diff(found.flow) <= 0).all()
    used = np.triu(dense, k=1) > 0
    assert len(found.pairs) == len(np.unique(found.pairs, axis=0)) == used.sum()


def test_a_node_s_own_edges_are_those_at_it() -> None:
    trained = zoo_model("agnn", "random")
    own = edge_flow(trained, 17).at(17)
    beside = trained.graph.senders[trained.graph.receivers == 17]
    assert sorted(set(own.pairs.ravel().tolist()) - {17}) == beside.tolist()
    assert (np.diff(own.flow) <= 0).all()


def test_a_node_alone_has_no_edges() -> None:
    assert edge_flow(zoo_model("agnn", "no edges"), 1).pairs.shape == (0, 2)
