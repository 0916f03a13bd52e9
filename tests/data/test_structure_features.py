"""Degree, the neighbours' degree and core number, against NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from agnn.data._features import core_numbers, structure_columns

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
