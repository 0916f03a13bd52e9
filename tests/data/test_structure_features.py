"""Features made of the graph alone: measures against NetworkX, positions against their formula."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import agnn
from agnn.data._features import POSITIONS, core_numbers, position_columns, structure_columns

GRAPHS = {
    "one node": nx.empty_graph(1),
    "no edges": nx.empty_graph(4),
    "path": nx.path_graph(6),
    "hub": nx.star_graph(9),
    "clique and tail": nx.lollipop_graph(5, 4),
    "random": nx.gnp_random_graph(80, 0.08, seed=1),
    "power law": nx.barabasi_albert_graph(300, 3, seed=2),
    "cliques": nx.disjoint_union(nx.complete_graph(6), nx.windmill_graph(3, 4)),
}


def edges_of(graph: nx.Graph) -> np.ndarray:
    pairs = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2).T
    return np.sort(pairs, axis=0)


@pytest.mark.parametrize("name", GRAPHS)
def test_core_numbers_are_networkx_s(name: str) -> None:
    graph = GRAPHS[name]
    adjacency = sparse.csr_array(nx.to_scipy_sparse_array(graph, format="csr"))
    expected = [nx.core_number(graph)[node] for node in range(len(graph))]
    assert core_numbers(adjacency).tolist() == expected


@pytest.mark.parametrize("name", GRAPHS)
def test_the_three_measures_are_logarithms_of_their_definitions(name: str) -> None:
    graph = GRAPHS[name]
    n = len(graph)
    degree = np.array([graph.degree(node) for node in range(n)], dtype=float)
    mean = [np.mean([degree[j] for j in graph[i]]) if degree[i] else 0 for i in range(n)]
    core = [nx.core_number(graph)[node] for node in range(n)]
    expected = np.log1p(np.stack([degree, mean, core], axis=1))
    np.testing.assert_allclose(structure_columns(edges_of(graph), n), expected, rtol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_positions_are_a_projection_of_the_sixth_power(name: str) -> None:
    edges, n = edges_of(GRAPHS[name]), len(GRAPHS[name])
    a = np.eye(n)
    a[edges[0], edges[1]] = a[edges[1], edges[0]] = 1.0
    scale = 1.0 / np.sqrt(a.sum(axis=1))
    drawn = np.random.default_rng(0).standard_normal((n, POSITIONS), dtype=np.float32)
    expected = np.linalg.matrix_power(scale[:, None] * a * scale, 6) @ drawn
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(position_columns(edges, n), expected, atol=1e-4)


def test_positions_of_known_nodes_stay_when_others_come_without_edges_to_them() -> None:
    edges = edges_of(GRAPHS["power law"])
    known, more = position_columns(edges, 300), position_columns(edges, 320)
    np.testing.assert_array_equal(more[:300], known)


def test_communities_are_found_without_any_column() -> None:
    sizes = [60, 60, 60]
    chances = np.full((3, 3), 0.02) + 0.13 * np.eye(3)
    graph = nx.stochastic_block_model(sizes, chances, seed=3)
    labels = np.repeat(np.arange(3), sizes)
    data = agnn.from_scipy(nx.to_scipy_sparse_array(graph, format="csr"), labels=labels)
    assert any("no column to learn from" in note for note in data.reading.notes)
    method = agnn.get_method("agnn")(epochs=60, scaling="none")
    run = agnn.evaluate(method, data, split="stratified", replicas=2)
    assert run.measure("accuracy").mean > 90.0  # by degree and core number alone it is chance
