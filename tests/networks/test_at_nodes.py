"""States of the ends of edges, and their gradient on several threads."""

from __future__ import annotations

import pytest
import torch

import agnn
from agnn.networks._neighbourhoods import at_nodes
from properties import assert_same_bits


def test_it_is_indexing_and_so_is_its_gradient():
    source = torch.Generator().manual_seed(0)
    states = torch.randn(2, 7, 3, generator=source, dtype=torch.float64, requires_grad=True)
    nodes = torch.tensor([6, 0, 0, 3, 6, 6, 1])  # 2, 4 and 5 are no end of an edge
    weight = torch.randn(2, 7, 3, generator=source, dtype=torch.float64)
    (plain,) = torch.autograd.grad((states[:, nodes] * weight).sum(), states)
    taken = at_nodes(states, nodes)
    assert_same_bits(taken, states[:, nodes])
    (own,) = torch.autograd.grad((taken * weight).sum(), states)
    torch.testing.assert_close(own, plain, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["gatv2", "transformer", "dynamic_filter"])
def test_replicas_have_the_same_bits_alone_on_two_threads(name, cora):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        how = {"split": "fixed", "changes": {"epochs": 2}}
        together = agnn.evaluate(name, cora, seeds=(4, 5), **how).scores
        alone = agnn.evaluate(name, cora, seeds=(5,), **how).scores
    finally:
        torch.set_num_threads(threads)
    assert_same_bits(together[1], alone[0])
