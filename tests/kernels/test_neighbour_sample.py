"""Samples of neighbours: as many as asked for, every set equally likely, by key and node alone."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels import sample_neighbours
from properties import CPU_BACKENDS, FAST_BACKENDS
from zoo import ZOO, zoo_graph

STAR = Graph.from_edges(np.array([[0] * 6, [1, 2, 3, 4, 5, 6]]), 8)


@pytest.mark.parametrize("fanout", [1, 3, 10_000])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_node_has_so_many_different_neighbours_or_all(backend, fanout):
    for graph in map(zoo_graph, ZOO):
        nodes = np.arange(graph.nodes)[::-1].copy()
        offsets, places = sample_neighbours(graph, nodes, fanout, 7, backend=backend)
        counts = np.minimum(graph.degrees.numpy()[nodes], fanout)
        assert np.array_equal(np.diff(offsets), counts)
        assert np.array_equal(graph.receivers.numpy()[places], np.repeat(nodes, counts))
        for k in range(nodes.size):
            own = places[offsets[k] : offsets[k + 1]]
            assert (np.diff(own) > 0).all()


@pytest.mark.parametrize("fanout", [1, 2, 5, 40])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_samples_what_the_reference_samples(backend, fanout):
    for graph in map(zoo_graph, ZOO):
        for key in (0, 2**63 + 5):
            given = (graph, np.arange(graph.nodes), fanout, key)
            _, found = sample_neighbours(*given, backend=backend)
            assert np.array_equal(found, sample_neighbours(*given, backend="reference")[1])


@pytest.mark.parametrize("fanout", [1, 2, 3, 5])
def test_every_set_of_neighbours_is_drawn_equally_often(fanout):
    """Chi-square over all sets of the star's centre: 6,000 keys that count up, as steps do."""
    keys, seen = 6000, Counter[tuple[int, ...]]()
    for key in range(keys):
        _, places = sample_neighbours(STAR, np.zeros(1, np.int64), fanout, key)
        seen[tuple(places.tolist())] += 1
    sets = list(combinations(range(6), fanout))
    assert set(seen) == set(sets)
    expected = keys / len(sets)
    statistic = sum((seen[each] - expected) ** 2 / expected for each in sets)
    freedom = len(sets) - 1
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5


def test_different_nodes_draw_unrelated_numbers():
    """Two hubs with the same neighbours: their samples agree as often as chance has it."""
    ends = np.array([[0] * 10 + [1] * 10, [*range(2, 12)] * 2])
    graph, both = Graph.from_edges(ends, 12), 0
    for key in range(2000):
        _, places = sample_neighbours(graph, np.arange(2), 1, key)
        both += int(graph.columns[places[0]] == graph.columns[places[1]])
    assert abs(both - 200) < 4 * (2000 * 0.1 * 0.9) ** 0.5


def test_neither_other_nodes_nor_threads_change_a_sample(cora_graph):
    every = np.arange(cora_graph.nodes)
    offsets, places = sample_neighbours(cora_graph, every, 3, 11)
    some = np.array([5, 100, 3, 2000])
    first, own = sample_neighbours(cora_graph, some, 3, 11)
    for k, node in enumerate(some):
        wanted = places[offsets[node] : offsets[node + 1]]
        assert np.array_equal(own[first[k] : first[k + 1]], wanted)
    torch.set_num_threads(4)
    many = np.tile(every, 20)  # enough work for all threads
    assert np.array_equal(sample_neighbours(cora_graph, many, 3, 11)[1], np.tile(places, 20))


def test_no_neighbours_are_refused():
    with pytest.raises(InputError, match="`fanout` must be at least 1; got 0"):
        sample_neighbours(STAR, np.zeros(1, np.int64), 0, 1)
