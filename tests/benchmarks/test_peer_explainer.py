"""The ensemble that GNNExplainer looks at is ours, and its order holds every edge around a node."""

from __future__ import annotations

import pytest
import torch
from benchmarks.edge_removal import attended_edges

from agnn.methods import get_method
from agnn.runs import Run, evaluate

pytest.importorskip("torch_geometric")


@pytest.fixture(scope="module")
def opened(toy) -> Run:
    return evaluate(get_method("agnn")(epochs=20, layers=2), toy, seeds=(0, 1))


def test_the_rebuilt_ensemble_gives_our_probabilities(opened):
    from benchmarks.peer_explainer import peer_inputs

    for node in (5, 50, 110):
        model, x, edge_index, nodes = peer_inputs(opened, node)
        assert int(nodes[0]) == node
        expected = opened.scores[:, node].mean(0)
        torch.testing.assert_close(model(x, edge_index)[0], expected, atol=1e-6, rtol=0)


def test_the_order_is_of_the_edges_around_the_node(opened):
    from benchmarks.peer_explainer import peer_order

    order = peer_order(opened, 50)
    assert sorted(order) == sorted(attended_edges(opened, 50, is_own=False))
    assert len(order) == len(set(order))


def test_the_figures_come_as_a_table_with_n(opened):
    from benchmarks.faithfulness import measured, table

    found = measured(opened, nodes=6, peer_nodes=2, changed_nodes=3)
    text = table("toy", found)
    assert "| own | attention | " in text
    assert "| peer around | GNNExplainer | " in text
    assert "(n = 6)" in text
    lead = found["own"]["chance"]["behind attention"]["1"]["values"]
    ours, chance = (found["own"][name]["fall"]["1"]["values"] for name in ("attention", "chance"))
    assert lead == pytest.approx([a - b for a, b in zip(ours, chance, strict=True)])
