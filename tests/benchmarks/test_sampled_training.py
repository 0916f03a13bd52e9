"""The benchmark of sampled training: its graph, and what it measures."""

from __future__ import annotations

import numpy as np
from benchmarks.sampled_training import measured, planted_partition

from agnn.networks import GCN


def test_the_graph_has_its_degree_and_its_share_of_equal_neighbours():
    data = planted_partition(3000)
    i, j = data.edges
    assert abs(2 * i.size / data.nodes - 20) < 0.5
    # Of the others a tenth are of the same class by chance.
    assert abs(np.mean(data.labels[i] == data.labels[j]) - (0.4 + 0.6 * 0.1)) < 0.02


def test_both_ways_are_measured():
    data = planted_partition(1000)
    for method in (GCN(epochs=2), GCN(epochs=2, batch=20, fanout=(3, 3))):
        found = measured(method, data)
        assert found["epochs"] == 2
        assert 0 <= found["accuracy"] <= 100
        assert found["process GiB"] > 0
