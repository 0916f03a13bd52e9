"""Random walks: along edges, by their law, and the same however the work is cut."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from agnn.graph import Graph, Walks
from agnn.kernels import random_walks
from agnn.kernels._counter import U, below, fraction, stream_key, word
from agnn.kernels._random_walk import numba_cpu
from properties import CPU_BACKENDS, FAST_BACKENDS
from zoo import ZOO, zoo_graph

BIASED = (Walks(3, 12), Walks(3, 12, p=0.25, q=4.0), Walks(3, 12, p=4.0, q=0.25))
KITE = Graph.from_edges(np.array([[0, 0, 0, 1, 3, 3, 4], [1, 2, 3, 2, 4, 5, 5]]), 7)


@pytest.mark.parametrize("walks", BIASED)
@pytest.mark.parametrize("specimen", ZOO)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_walks_go_along_edges_and_start_at_every_node_with_a_neighbour(backend, specimen, walks):
    graph = zoo_graph(specimen)
    found = random_walks(graph, walks, 5, backend=backend)
    edges = set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True))
    steps = zip(found[:, :-1].ravel().tolist(), found[:, 1:].ravel().tolist(), strict=True)
    assert set(steps) <= edges
    starts = Counter(found[:, 0].tolist())
    joined = graph.degrees.nonzero().squeeze(1).tolist()
    assert starts == Counter(dict.fromkeys(joined, walks.per_node))
    assert found.shape == (walks.per_node * len(joined), walks.length)


@pytest.mark.parametrize("walks", BIASED)
@pytest.mark.parametrize("seed", [0, 2**40 + 3])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_walks_where_the_reference_walks(backend, seed, walks):
    for graph in map(zoo_graph, ZOO):
        found = random_walks(graph, walks, seed, backend=backend)
        assert np.array_equal(found, random_walks(graph, walks, seed, backend="reference"))


@pytest.mark.parametrize("walks", [Walks(4000, 10, p, q) for p, q in ((1, 1), (0.2, 3), (4, 0.3))])
def test_steps_are_taken_as_often_as_their_law_says(walks):
    """Chi-square over all (last, node): 240,000 steps, few degrees of freedom, a fixed seed."""
    found = random_walks(KITE, walks, 1)
    triples = np.stack([found[:, :-2], found[:, 1:-1], found[:, 2:]], axis=-1).reshape(-1, 3)
    statistic, freedom = 0.0, 0
    for last, node in {(int(a), int(b)) for a, b in triples[:, :2]}:
        here = triples[(triples[:, 0] == last) & (triples[:, 1] == node), 2]
        law = walks.probabilities(KITE, last, node)
        counts = np.bincount(here, minlength=7)[KITE.senders[KITE.receivers == node].numpy()]
        statistic += float(((counts - here.size * law) ** 2 / (here.size * law)).sum())
        freedom += law.size - 1
    # Four deviations above the mean of a chi-square: one chance in some thousands.
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5
    assert freedom > 10


def test_the_first_step_is_uniform_whatever_p_and_q():
    found = random_walks(KITE, Walks(6000, 2, p=0.05, q=9.0), 3)
    steps = found[found[:, 0] == 0, 1]
    share = np.bincount(steps, minlength=4)[1:] / steps.size
    assert share == pytest.approx([1 / 3] * 3, abs=0.025)


def test_rounds_visit_the_nodes_in_orders_of_their_own(cora_graph):
    starts = random_walks(cora_graph, Walks(2, 2), 0)[:, 0].reshape(2, -1)
    assert (np.sort(starts[0]) == np.sort(starts[1])).all()
    assert (starts[0] != starts[1]).mean() > 0.9


def test_seeds_and_rounds_walk_differently(cora_graph):
    one, other = (random_walks(cora_graph, Walks(2, 30), seed) for seed in (0, 1))
    assert not np.array_equal(one, other)
    first, second = one[np.argsort(one[:, 0], kind="stable")].reshape(-1, 2, 30).swapaxes(0, 1)
    assert (first != second).any(axis=1).mean() > 0.9


def test_threads_change_no_walk(cora_graph, monkeypatch):
    walks, pieces = Walks(4, 40, 0.5, 2.0), []
    alone = random_walks(cora_graph, walks, 2, backend="numba")

    def in_many_pieces(function, arguments, units, cost):  # noqa: ARG001 (the signature it has)
        bounds = [0, 7, 100, units // 2, units]
        for first, last in reversed(list(pairwise(bounds))):
            function(*arguments, first, last)
            pieces.append(last - first)

    monkeypatch.setattr(numba_cpu, "run_in_pieces", in_many_pieces)
    assert np.array_equal(alone, random_walks(cora_graph, walks, 2, backend="numba"))
    assert len(pieces) == 4
    monkeypatch.undo()
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert np.array_equal(alone, random_walks(cora_graph, walks, 2, backend="numba"))
    finally:
        torch.set_num_threads(threads)


def test_random_words_are_uniform_and_scalars_agree_with_arrays():
    words = word(U(stream_key(7, 1)), np.arange(200_000, dtype=np.uint64))
    counts = np.bincount(below(words, U(10)).astype(int), minlength=10)
    assert counts / words.size == pytest.approx([0.1] * 10, abs=0.005)
    assert float(fraction(words).mean()) == pytest.approx(0.5, abs=0.005)
    assert fraction(words).max() < 1.0
    assert np.corrcoef(fraction(words), below(words, U(1000)))[0, 1] == pytest.approx(0, abs=0.01)
    # SplitMix64 from state 0: its first three numbers are published in many places.
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(x) for x in word(U(0), np.arange(3, dtype=np.uint64))] == known
