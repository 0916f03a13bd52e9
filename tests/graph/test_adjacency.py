"""Adjacency matrices against their dense definitions."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.graph import adjacency, normalise_rows, normalise_symmetrically

EDGES = np.array([[0, 0, 1, 3], [1, 2, 2, 4]])  # a triangle, a pair, and node 5 alone


def dense() -> np.ndarray:
    a = np.zeros((6, 6))
    for i, j in EDGES.T:
        a[i, j] = a[j, i] = 1.0
    return a


def test_both_directions_of_every_edge_are_there():
    assert (adjacency(EDGES, 6).toarray() == dense()).all()


def test_rows_sum_to_one_where_a_node_has_neighbours():
    found = normalise_rows(adjacency(EDGES, 6)).toarray()
    degrees = dense().sum(1)
    assert found[:5] == pytest.approx(dense()[:5] / degrees[:5, None])
    assert (found[5] == 0).all()


def test_the_symmetric_form_divides_by_the_roots_of_both_degrees():
    found = normalise_symmetrically(adjacency(np.array([[0, 0], [1, 2]]), 4)).toarray()
    expected = np.zeros((4, 4))
    expected[0, 1:3] = expected[1:3, 0] = 1 / np.sqrt(2)
    assert found == pytest.approx(expected)


def test_the_given_matrix_is_left_alone():
    matrix = adjacency(EDGES, 6)
    normalise_symmetrically(matrix)
    normalise_rows(matrix)
    assert (matrix.toarray() == dense()).all()
