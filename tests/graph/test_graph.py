"""The graph: every edge twice, every neighbour once, no loops, whatever was given."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn.errors import InputError
from agnn.graph import Graph, ReceptiveField
from zoo import ZOO, Specimen, random_pairs, zoo_graph


@pytest.mark.parametrize("name", ZOO)
def test_rows_hold_the_neighbours_once_each_in_order_without_the_node_itself(name):
    graph, joined = zoo_graph(name), ZOO[name].neighbourhoods()
    for i in range(graph.nodes):
        row = graph.columns[graph.offsets[i] : graph.offsets[i + 1]].tolist()
        assert row == [j for j in joined[i].nonzero().flatten().tolist() if j != i]


@pytest.mark.parametrize("name", ZOO)
def test_receivers_senders_and_degrees_describe_the_same_rows(name):
    graph, joined = zoo_graph(name), ZOO[name].neighbourhoods()
    others = joined & ~torch.eye(graph.nodes, dtype=torch.bool)
    assert torch.equal(torch.stack([graph.receivers, graph.senders]), others.nonzero().T)
    assert torch.equal(graph.degrees, others.sum(1))
    assert graph.longest_row == int(others.sum(1).max())
    assert graph.edges == int(others.sum())
    assert graph.nodes == ZOO[name].nodes


@pytest.mark.parametrize("name", ZOO)
def test_reverse_finds_the_same_edge_the_other_way_round(name):
    for graph in (
        zoo_graph(name),
        ReceptiveField.around(zoo_graph(name), torch.tensor([0]), 2).graph,
    ):
        assert torch.equal(graph.receivers[graph.reverse], graph.senders)
        assert torch.equal(graph.senders[graph.reverse], graph.receivers)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint16, "tensor", "strided", "read-only"])
def test_any_integer_edges_make_the_same_graph(kind):
    pairs = np.array(random_pairs(50, 60, seed=0)).T
    given = pairs.copy() if isinstance(kind, str) else pairs.astype(kind)
    if kind == "tensor":
        given = torch.from_numpy(given)
    elif kind == "strided":
        given = np.repeat(given, 2, axis=1)[:, ::2]
    elif kind == "read-only":
        given.setflags(write=False)
    graph, plain = Graph.from_edges(given, 50), Graph.from_edges(pairs, 50)
    assert torch.equal(graph.offsets, plain.offsets)
    assert torch.equal(graph.columns, plain.columns)
    assert graph.offsets.dtype == torch.int64
    assert graph.columns.dtype == torch.int32


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        (
            np.zeros((3, 2), int),
            4,
            r"\[2, m\] \(receivers, then senders\); got torch.int64 \[3, 2\]",
        ),
        (np.zeros(4, int), 4, r"shape \[2, m\]"),
        (np.zeros((2, 3)), 4, "must be integers"),
        (np.array([[0], [4]]), 4, "names node 4, but there are 4 nodes"),
        (np.array([[0], [-1]]), 4, "names node -1, but there are 4 nodes"),
        (np.zeros((2, 0), int), 0, "`nodes` must be between 1 and"),
    ],
)
def test_edges_that_are_no_edges_are_refused(edges, nodes, words):
    with pytest.raises(InputError, match=words):
        Graph.from_edges(edges, nodes)


def test_reach_covers_the_neighbours_of_the_first_rows_and_the_rows_themselves():
    graph = Specimen(8, ((0, 3), (1, 2), (2, 7))).graph()
    assert [graph.reach(rows) for rows in range(1, 9)] == [4, 4, 8, 8, 8, 8, 8, 8]
    lonely = Specimen(3).graph()
    assert [lonely.reach(rows) for rows in (1, 2, 3)] == [1, 2, 3]


def test_a_graph_that_is_where_it_should_be_is_not_copied():
    assert zoo_graph("path").to("cpu") is zoo_graph("path")


@pytest.mark.parametrize("rows", [1, 4, 50, 199, 200])
def test_around_keeps_the_edges_with_one_of_the_first_rows_at_an_end(rows):
    graph = zoo_graph("random")
    part, n = graph.around(rows), graph.reach(rows)
    ends = zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True)
    expected = [(i, j) for i, j in ends if i < rows or j < rows]
    assert list(zip(part.receivers.tolist(), part.senders.tolist(), strict=True)) == expected
    assert part.nodes == n
    assert graph.around(200) is graph


def test_around_keeps_the_order_of_sums_for_the_nodes_it_keeps():
    field = ReceptiveField.around(zoo_graph("random"), torch.tensor([120, 7]), 3)
    part = field.graph.around(field.sizes[1])
    order = part.summation_order.astype("int64")
    assert sorted(order) == list(range(part.nodes))
    assert (field.nodes[order].diff() > 0).all()
