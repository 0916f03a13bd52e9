"""A graph sorted on disk is the one that is built in memory, in however many pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import agnn.distributed._external_csr as external_csr
from agnn.distributed._external_csr import DiskGraph, _bucket_bounds, disk_graph
from agnn.errors import InputError
from agnn.graph import Graph


def random_edges(nodes: int, count: int, seed: int) -> np.ndarray:
    """Edges with repetitions in both directions, self-loops and a hub."""
    source = np.random.default_rng(seed)
    edges = source.integers(nodes, size=(2, count))
    edges[0, : count // 4] = nodes // 2
    edges[:, -(count // 5) :] = edges[::-1, : count // 5]
    edges[1, : count // 10] = edges[0, : count // 10]
    return edges


def assert_same_graph(found: DiskGraph, edges: np.ndarray, nodes: int) -> None:
    expected = Graph.from_edges(edges, nodes)
    np.testing.assert_array_equal(found.offsets, expected.offsets.numpy())
    np.testing.assert_array_equal(found.columns, expected.columns.numpy())
    assert found.nodes == nodes
    assert found.edges == expected.columns.numel() // 2
    assert found.entries == edges.shape[1]
    assert found.self_loops == int((edges[0] == edges[1]).sum())


@pytest.mark.parametrize("pieces", [1, 3, 50])
@pytest.mark.parametrize("at_once", [7, 4_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_a_graph_in_pieces_is_that_of_all_edges(
    seed: int, at_once: int, pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_csr, "_AT_ONCE", at_once)
    bounds = _bucket_bounds
    monkeypatch.setattr(
        external_csr, "_bucket_bounds", lambda counts, _: bounds(counts, counts.sum() // pieces + 1)
    )
    edges = random_edges(60, 300, seed)
    batches = np.array_split(edges, [0, 11, 150], axis=1)  # one of them is empty
    assert_same_graph(disk_graph([(batch, None) for batch in batches], 60, tmp_path, 0), edges, 60)
    assert [file.name for file in tmp_path.iterdir()] == [
        "columns.raw",
        "weights.raw",
    ], "the rest is removed"


@pytest.mark.parametrize(
    ("edges", "nodes"),
    [(np.empty((2, 0), int), 5), (np.array([[0], [0]]), 1), (np.array([[3, 3], [1, 3]]), 4)],
    ids=["no edges", "one node and its loop", "a loop and an edge"],
)
def test_graphs_with_almost_nothing(edges: np.ndarray, nodes: int, tmp_path: Path) -> None:
    assert_same_graph(disk_graph([(edges, None)], nodes, tmp_path, 0), edges, nodes)


@pytest.mark.parametrize("nodes", [0, -1, 2**31])
def test_numbers_of_nodes_that_do_not_fit_are_refused(nodes: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"from 1 to 2\^31 - 1 nodes; got"):
        disk_graph([], nodes, tmp_path, 0)


@pytest.mark.parametrize("most", [1, 10, 100, 10**9])
def test_buckets_cover_all_rows_and_hold_what_is_allowed(most: int) -> None:
    counts = np.random.default_rng(0).integers(0, 20, size=200)
    counts[50:60] = 0
    counts[70] = 500
    bounds = _bucket_bounds(counts, most)
    assert bounds[0] == 0
    assert bounds[-1] == counts.size
    assert (np.diff(bounds) > 0).all()
    sizes = np.add.reduceat(counts, bounds[:-1])
    # A bucket is whole rows: it may exceed the limit by the rows at its ends.
    assert (sizes <= most + 2 * counts.max()).all()
    assert bounds.size - 1 <= counts.sum() // most + 1
