"""The weights of many replicas are computed in batches that fit in memory."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch

from agnn.kernels._cosine_attention import attention, attention_weights
from properties import assert_same_bits
from zoo import ZOO, zoo_graph

OP = import_module("agnn.kernels._cosine_attention")


@pytest.mark.parametrize("name", ["no edges", "random"])
@pytest.mark.parametrize("numbers", [1, 20_000, 2**23])
def test_batches_of_replicas_change_no_bit(
    name: str, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, h = zoo_graph(name), ZOO[name].states(7, 5, torch.float32)
    beta = torch.linspace(-1, 5, 7)
    monkeypatch.setattr(OP, "_NUMBERS_AT_ONCE", numbers)
    found = attention_weights(graph, h, beta)
    for one, other in zip(found, attention(graph, h, beta, graph.nodes), strict=True):
        assert_same_bits(one, other)


def test_each_batch_stays_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, h = zoo_graph("random"), ZOO["random"].states(7, 5)
    sizes: list[int] = []

    def spy(graph, h, beta, rows):
        sizes.append(h.shape[0])
        return attention(graph, h, beta, rows)

    monkeypatch.setattr(OP, "attention", spy)
    monkeypatch.setattr(OP, "_NUMBERS_AT_ONCE", 2 * graph.edges * 5)
    attention_weights(graph, h, torch.ones(7, dtype=torch.float64))
    assert sizes == [2, 2, 2, 1]
