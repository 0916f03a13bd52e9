"""A node without some edges: the same as building the data without them and running it all."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation import Removal, without_edges
from opened_toys import zoo_run
from zoo import ZOO
from zoo_models import zoo_data

KINDS = ("agnn", "gcn", "gln")


def rebuilt(kind: str, name: str, pairs: list[tuple[int, int]]) -> NDArray:
    """The probabilities of a run on the data without the edges; [n, c]."""
    data = zoo_data(name)
    gone = {frozenset(pair) for pair in pairs}
    kept = [frozenset(pair) not in gone for pair in data.edges.T.tolist()]
    other = NodeData.build(
        name=name, features=data.features, labels=data.labels, edges=data.edges[:, kept],
        class_names=data.class_names,
    )  # fmt: skip
    assert other.edges.shape[1] == data.edges.shape[1] - len(gone)
    return zoo_run(kind, name, other).probabilities


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["random", "hub", "lopsided", "two components", "zero row"])
def test_it_is_the_whole_model_on_the_data_without_the_edges(kind: str, name: str) -> None:
    opened, source = zoo_run(kind, name), np.random.default_rng(0)
    edges = opened.data.edges.T.tolist()
    for node in (0, ZOO[name].nodes // 2):
        beside = [tuple(pair) for pair in edges if node in pair]
        drawn = [tuple(edges[k]) for k in source.permutation(len(edges))[:3]]
        for pairs in (beside[:1], beside[-2:], beside, [*beside[:1], *drawn]):
            found = without_edges(opened, node, pairs)
            expected = rebuilt(kind, name, pairs)[node]
            assert found == pytest.approx(expected, abs=1e-6)
            assert found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [*KINDS, "appnp", "gat"])
@pytest.mark.parametrize("name", ["random", "hub", "lopsided"])
def test_removals_that_are_computed_together_are_those_one_by_one(kind: str, name: str) -> None:
    opened = zoo_run(kind, name)
    for node in (0, ZOO[name].nodes // 2):
        pairs = [tuple(pair) for pair in opened.data.edges.T.tolist() if node in pair]
        removal = Removal(opened, node)
        singly = [removal.probabilities([pair]) for pair in pairs]
        assert removal.singly(pairs) == pytest.approx(np.array(singly), abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_an_edge_beyond_the_rim_counts_by_its_degree_alone(kind: str) -> None:
    """0 - 1 - 2 - 3 - 4 - 5: for node 0, two layers read nodes 0 to 2, three layers 0 to 3."""
    opened = zoo_run(kind, "path")
    hops = opened.network.hops
    found = without_edges(opened, 0, [(hops, hops + 1)])
    assert found == pytest.approx(rebuilt(kind, "path", [(hops, hops + 1)])[0], abs=1e-7)
    moved = np.abs(found - opened.probabilities[0]).max()
    assert (moved > 1e-4) == (kind != "agnn"), "only GCN and GLN weigh by degrees"


def test_no_edge_is_no_change_and_order_and_repeats_are_no_matter() -> None:
    opened = zoo_run("agnn", "random")
    assert without_edges(opened, 5, []) == pytest.approx(opened.probabilities[5], abs=1e-7)
    i, j = opened.data.edges.T.tolist()[9]
    once = without_edges(opened, i, [(i, j)])
    assert without_edges(opened, i, [(j, i), (i, j)]).tolist() == once.tolist()
    assert np.abs(once - opened.probabilities[i]).max() > 1e-4


def test_the_edges_of_the_run_stay_where_they_are() -> None:
    opened = zoo_run("gcn", "random")
    before = opened.graph.columns.clone()
    without_edges(opened, 0, [(0, 1)])
    assert opened.graph.columns.tolist() == before.tolist()
    assert without_edges(opened, 0, []) == pytest.approx(opened.probabilities[0], abs=1e-7)
    assert opened.graph.hop_rings(before.new_tensor([0]).long(), 1)[1].tolist()[0] == 1


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([(0, 2)], r"names the edge 0 - 2, which the graph does not have"),
        ([(0, 1), (1, 1)], r"names the edge 1 - 1, which"),
        ([(0, 6)], r"names node 6; the graph has 0 to 5"),
        ([(-1, 0)], r"names node -1"),
    ],
)
def test_an_edge_that_is_not_there_is_refused(pairs: list[tuple[int, int]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        without_edges(zoo_run("agnn", "path"), 0, pairs)
