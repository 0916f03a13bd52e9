"""Ranks that share a GPU: the same bits for every number of them."""

from __future__ import annotations

import pytest

from agnn.networks import GCN, AGNNPlus
from agnn.runs import evaluate
from properties import assert_close, assert_same_bits

METHODS = [AGNNPlus(layers=2, epochs=20, strength=0.0), GCN(epochs=20)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_two_ranks_on_one_gpu_give_the_bits_of_one(method, cora):
    one, two = (
        evaluate(method, cora, "fixed", (0, 1), device="cuda", ranks=ranks, divide="rows")
        for ranks in (1, 2)
    )
    assert_same_bits(one.scores, two.scores)
    whole = evaluate(method, cora, "fixed", (0, 1), device="cuda")
    assert_close(one.scores.cpu(), whole.scores.cpu(), 2e-3)
