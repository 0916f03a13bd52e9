"""Random walks, described: their law by the definition, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.errors import InputError
from agnn.graph import Graph, Walks

# 0 - 1, 0 - 2, 0 - 3, 1 - 2, 3 - 4
KITE = Graph.from_edges(np.array([[0, 0, 0, 1, 3], [1, 2, 3, 2, 4]]), 5)


def test_the_law_weighs_back_near_and_on_as_node2vec_defines_them():
    """From 1 at 0: back to 1 weighs 1/p, 2 is a neighbour of 1 and weighs 1, 3 weighs 1/q."""
    law = Walks(1, 5, p=4.0, q=0.5).probabilities(KITE, 1, 0)
    assert law == pytest.approx(np.array([0.25, 1.0, 2.0]) / 3.25)


def test_with_p_and_q_one_the_law_is_uniform():
    assert Walks(1, 5).probabilities(KITE, 3, 0) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"per_node": 0, "length": 5}, "`per_node` must be at least 1; got 0"),
        ({"per_node": 1, "length": 1}, "`length` must be at least 2 nodes; got 1"),
        ({"per_node": 1, "length": 5, "p": 0.0}, "`p` must be a finite number above 0; got 0.0"),
        ({"per_node": 1, "length": 5, "q": float("inf")}, "`q` must be a finite number above 0"),
        ({"per_node": 1, "length": 5, "q": float("nan")}, "`q` must be a finite number above 0"),
    ],
)
def test_walks_that_cannot_be_are_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Walks(**fields)
