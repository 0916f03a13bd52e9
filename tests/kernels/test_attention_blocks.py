"""Small graphs are looked at edge by undirected edge, large ones block by block: the same bits."""

from __future__ import annotations

import pytest
import torch

from agnn.kernels import cosine_attention
from properties import WIDTHS, assert_same_bits, gradients
from zoo import ZOO, zoo_graph

numba_cpu = pytest.importorskip("agnn.kernels._cosine_attention.numba_cpu")
BETA = torch.tensor([0.0, 4.0, -3.0])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ZOO)
def test_pairs_and_blocks_give_the_same_bits(name, width, monkeypatch):
    graph, h = zoo_graph(name), ZOO[name].states(3, width, torch.float32)

    def run() -> list[torch.Tensor]:
        return gradients(
            lambda h, beta: cosine_attention(graph, h, beta, backend="numba"), (h, BETA)
        )

    paired = run()  # as test_cosine_attention.py holds it against the reference
    monkeypatch.setattr(numba_cpu, "_PAIRED", -1)
    for one, other in zip(paired, run(), strict=True):
        assert_same_bits(one, other)
