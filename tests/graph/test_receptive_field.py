"""Pruning: the nodes within so many hops, and every edge that a layer reads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph, ReceptiveField, _view
from zoo import ZOO, Specimen, tiny_random, zoo_graph


def hops_from(animal: Specimen, targets: list[int]) -> list[float]:
    """Breadth-first search, written plainly; infinity where no path leads."""
    distance = [float("inf")] * animal.nodes
    ring = set(targets)
    steps = 0
    while ring:
        for i in ring:
            distance[i] = steps
        joined = {j for pair in animal.pairs for i, j in (pair, pair[::-1]) if i in ring}
        ring = {j for j in joined if distance[j] == float("inf")}
        steps += 1
    return distance


def by_masks(graph: Graph, targets: list[int], hops: int) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Nodes, kept edges and sizes of a field by masks over the whole graph."""
    distance = torch.full((graph.nodes,), hops + 1)
    distance[targets] = 0
    for hop in range(hops):
        reached = graph.senders[distance[graph.receivers] == hop]
        distance[reached] = distance[reached].clamp(max=hop + 1)
    order = torch.argsort(distance, stable=True)
    nodes = order[distance[order] <= hops]
    near, far = distance[graph.receivers], distance[graph.senders]
    kept = ((torch.minimum(near, far) < hops) & (torch.maximum(near, far) <= hops)).nonzero()[:, 0]
    row = torch.argsort(order)[graph.receivers[kept]]
    sizes = tuple(int((distance <= k).sum()) for k in range(hops + 1))
    return nodes, kept[torch.argsort(row, stable=True)], sizes


CASES = [
    ("path", [0]), ("two components", [6]), ("isolated nodes", [0, 2]), ("hub", [5]),
    ("hub", [350]), ("random", [3]), ("random", [3, 50, 51, 199]), ("given self-loops", [3]),
]  # fmt: skip


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("name", "targets"), CASES)
def test_rings_are_those_of_a_breadth_first_search(name, targets, hops):
    distance = hops_from(ZOO[name], targets)
    field = ReceptiveField.around(zoo_graph(name), torch.tensor(targets), hops)
    assert field.hops == hops
    assert field.sizes == tuple(sum(d <= k for d in distance) for k in range(hops + 1))
    for k, size in enumerate(field.sizes):
        assert sorted(field.nodes[:size].tolist()) == [i for i, d in enumerate(distance) if d <= k]
    assert field.targets.tolist() == sorted(targets)


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
@pytest.mark.parametrize(("name", "targets"), CASES)
def test_edges_are_those_with_an_end_that_some_layer_computes(name, targets, hops):
    graph, distance = zoo_graph(name), hops_from(ZOO[name], targets)
    field = ReceptiveField.around(graph, torch.tensor(targets), hops)
    pairs = list(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True))
    expected = {(i, j) for i, j in pairs if min(distance[i], distance[j]) < hops}
    kept = field.graph
    ends = zip(
        field.nodes[kept.receivers].tolist(), field.nodes[kept.senders].tolist(), strict=True
    )
    assert list(ends) == [pairs[e] for e in field.edge_ids.tolist()]
    assert {pairs[e] for e in field.edge_ids.tolist()} == expected
    assert kept.edges == len(expected)
    for k in range(hops):
        assert kept.reach(field.sizes[k]) <= field.sizes[k + 1]


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("name", "targets"), CASES)
def test_the_field_is_that_of_masks_over_the_whole_graph(name, targets, hops):
    graph = zoo_graph(name)
    field = ReceptiveField.around(graph, torch.tensor(targets), hops)
    nodes, edge_ids, sizes = by_masks(graph, targets, hops)
    assert torch.equal(field.nodes, nodes)
    assert torch.equal(field.edge_ids, edge_ids)
    assert field.sizes == sizes
    assert field.graph.columns.dtype == torch.int32
    assert torch.equal(nodes[field.graph.receivers], graph.receivers[edge_ids])
    assert torch.equal(nodes[field.graph.senders], graph.senders[edge_ids])
    assert torch.equal(nodes[field.graph.order], nodes.sort().values)


def test_a_field_reads_nothing_beyond_its_rim():
    """A node two hops from a hub: of the hub's 700 edges one is looked at, the one inwards."""
    pairs = torch.tensor([[0, 1], [1, 2], *([2, k] for k in range(3, 703))]).T
    graph = Graph.from_edges(pairs, 703)
    poisoned = graph.columns.clone()
    poisoned[graph.offsets[2] + 2 :] = 9999  # whoever reads these edges finds no such node
    field = ReceptiveField.around(Graph(graph.offsets, poisoned), torch.tensor([0]), 2)
    assert field.nodes.tolist() == [0, 1, 2]
    assert field.graph.edges == 4


def test_a_field_of_a_pruned_graph_is_refused():
    part = ReceptiveField.around(zoo_graph("random"), torch.tensor([150, 3]), 2).graph
    with pytest.raises(InputError, match=r"must be whole, its rows ascending; got a pruned one"):
        ReceptiveField.around(part, torch.tensor([0]), 1)


def test_inside_a_row_the_senders_keep_the_order_of_the_whole_graph():
    field = ReceptiveField.around(zoo_graph("random"), torch.tensor([120, 7]), 3)
    for i in range(field.graph.nodes):
        row = field.edge_ids[field.graph.offsets[i] : field.graph.offsets[i + 1]]
        assert (row.diff() > 0).all()
    assert (field.nodes[field.graph.summation_order.astype("int64")].diff() > 0).all()


def test_all_nodes_as_targets_leave_the_graph_as_it_is():
    graph = zoo_graph("random")
    for field in (
        ReceptiveField.around(graph, torch.arange(200), 3),
        ReceptiveField.whole(graph, 3),
    ):
        assert field.graph is graph
        assert field.sizes == (200,) * 4
        assert torch.equal(field.nodes, torch.arange(200))


def test_a_field_that_reaches_all_nodes_keeps_all_edges():
    animal = tiny_random(30, 200, seed=0)
    field = ReceptiveField.around(animal.graph(), torch.tensor([2]), 6)
    assert field.sizes[-1] == 30
    assert field.graph.edges == animal.graph().edges


@pytest.mark.parametrize("order", [[9, 4, 30], [30, 9, 9, 4]])
def test_targets_may_come_in_any_order_and_twice(order):
    field = ReceptiveField.around(zoo_graph("random"), torch.tensor(order), 1)
    assert field.targets.tolist() == [4, 9, 30]
    rows = field.rows_of(torch.tensor([[30, 4], [9, 9]]))
    assert rows.tolist() == [[2, 0], [1, 1]]


@pytest.mark.parametrize("node", [0, 5, 199])
def test_the_row_of_a_node_that_is_no_target_is_refused(node):
    field = ReceptiveField.around(zoo_graph("random"), torch.tensor([4, 9, 30]), 2)
    with pytest.raises(InputError, match="must be targets of this receptive field"):
        field.rows_of(torch.tensor([4, node]))


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize(("name", "targets"), CASES)
def test_an_order_for_the_cache_moves_rows_and_nothing_in_them(name, targets, hops, monkeypatch):
    graph, chosen = zoo_graph(name), torch.tensor(targets)
    plain = ReceptiveField.around(graph, chosen, hops)
    monkeypatch.setattr(_view, "_WORTH_ORDERING", 0)
    ordered = ReceptiveField.around(graph, chosen, hops, is_for_many_passes=True)
    assert ordered.sizes == plain.sizes
    assert torch.equal(ordered.targets, plain.targets)
    for size in plain.sizes:
        assert sorted(ordered.nodes[:size].tolist()) == sorted(plain.nodes[:size].tolist())
    assert edges_by_node(ordered) == edges_by_node(plain)
    assert torch.equal(ordered.graph.order, torch.argsort(ordered.nodes))


def edges_by_node(field: ReceptiveField) -> dict[int, list[tuple[int, int]]]:
    """Of every node its neighbours, by their labels in the whole graph, and the edges' indices."""
    senders, ids = field.nodes[field.graph.columns].tolist(), field.edge_ids.tolist()
    offsets = field.graph.offsets.tolist()
    return {
        node: list(zip(senders, ids, strict=True))[offsets[row] : offsets[row + 1]]
        for row, node in enumerate(field.nodes.tolist())
    }


def test_neighbours_are_close_in_the_order_for_the_cache():
    path = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    graph = Graph.from_edges(torch.stack([path[:-1], path[1:]]), 200)
    places = graph.near_order
    assert sorted(places.tolist()) == list(range(200))
    assert (places[graph.receivers] - places[graph.senders]).abs().max() == 1


def test_a_field_needs_a_target():
    with pytest.raises(InputError, match="at least one target node"):
        ReceptiveField.around(zoo_graph("path"), torch.tensor([], dtype=torch.int64), 1)


def test_cora_is_pruned_to_the_share_known_for_it(cora, cora_graph):
    """shared/PERFORMANCE.md: the training step needs 20 % of the edge work of two layers."""
    targets = torch.tensor(cora.split("fixed").train)
    field = ReceptiveField.around(cora_graph, targets, 2)
    work = sum(int(field.graph.offsets[rows]) + rows for rows in field.sizes[:2])
    assert 0.15 < work / (2 * (cora_graph.edges + cora_graph.nodes)) < 0.25
