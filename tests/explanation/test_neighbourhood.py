"""The surroundings of a node: every field against the graph and the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation import (
    Neighbourhood,
    WholeGraph,
    model_paths,
    reach_of,
)
from agnn.explanation._neighbourhood import Parents, choose_places
from agnn.explanation._reach import layer_weights
from agnn.explanation._relevance import edge_relevance
from agnn.graph import Graph
from agnn.runs import Run
from path_definitions import path_attention
from properties import as_matrix
from toy_runs import run_of
from zoo import ZOO, zoo_graph
from zoo_models import even_split, random_model, zoo_data, zoo_model

TARGET = 100
HUB = 350


def distances(name: str, node: int) -> np.ndarray:
    """Hops from a node by powers of the adjacency; -1 where there is no way."""
    joined, found = ZOO[name].neighbourhoods().double(), np.full(ZOO[name].nodes, -1)
    reached = torch.eye(ZOO[name].nodes, dtype=torch.float64)[node]
    for hop in range(ZOO[name].nodes):
        new = (reached > 0).numpy() & (found < 0)
        if not new.any():
            break
        found[new] = hop
        reached = (reached @ joined > 0).double()
    return found


@pytest.fixture(scope="module")
def trained() -> Run:
    return zoo_model("agnn", "random")


@pytest.fixture(scope="module")
def around(trained: Run) -> Neighbourhood:
    return Neighbourhood.of(trained, TARGET, even_split(200), hops=2)


def test_all_nodes_within_the_hops_are_there_by_distance_then_attention(
    trained: Run, around: Neighbourhood
) -> None:
    hops = distances("random", TARGET)
    assert sorted(around.nodes.tolist()) == np.flatnonzero(hops <= 2).tolist()
    assert around.target == TARGET
    assert around.hops.tolist() == hops[around.nodes].tolist()
    nodes, weights = path_attention(trained, TARGET)
    weight = dict(zip(nodes.tolist(), weights.mean(0).tolist(), strict=True))
    order = [(hops[node], -weight[node], node) for node in around.nodes.tolist()]
    assert order == sorted(order)


def test_each_node_has_its_id_class_answer_and_whether_it_was_trained_on(
    trained: Run, around: Neighbourhood
) -> None:
    data = trained.data
    assert around.ids == tuple(data.node_ids[node] for node in around.nodes)
    assert around.labels.tolist() == data.labels[around.nodes].tolist()
    assert around.is_train.tolist() == (around.nodes % 3 == 0).tolist()
    with torch.no_grad():
        probability = trained.network(trained.whole_view()).softmax(-1)[:, around.nodes]
    assert around.scores == pytest.approx(probability.numpy(), abs=1e-6)
    assert around.predictions.tolist() == probability.mean(0).argmax(-1).tolist()


def test_the_weights_are_path_attention_and_the_rest_is_elsewhere(
    trained: Run, around: Neighbourhood
) -> None:
    nodes, weights = path_attention(trained, TARGET)
    whole = torch.zeros(2, 200, dtype=torch.float64)
    whole[:, nodes] = weights
    assert around.weights == pytest.approx(whole[:, around.nodes].numpy())
    assert around.elsewhere == pytest.approx(1 - around.weights.sum(1), abs=1e-5)
    assert around.elsewhere.min() > 0.01, "three layers reach farther than two hops"
    assert around.shares == pytest.approx(around.weights.mean(0), rel=1e-5)


def test_the_edges_are_all_edges_among_the_nodes_both_ways(around: Neighbourhood) -> None:
    inside = set(around.nodes.tolist())
    graph = zoo_graph("random")
    expected = {
        (i, j)
        for i, j in zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True)
        if i in inside and j in inside
    }
    found = [tuple(pair) for pair in around.nodes[around.edges].T.tolist()]
    assert len(found) == len(set(found))
    assert set(found) == expected


@pytest.mark.parametrize("kind", ["agnn", "gcn"])
def test_each_layer_has_the_weights_that_bear_on_the_target_and_no_others(kind: str) -> None:
    trained = zoo_model(kind, "random")
    around = Neighbourhood.of(trained, TARGET, even_split(200), hops=2)
    whole = layer_weights(trained.network, trained.whole_view())
    i, j = around.nodes[around.edges]
    assert len(around.layers) == trained.network.hops
    for after, (layer, weight) in enumerate(zip(around.layers[::-1], whole[::-1], strict=True)):
        for values, loops, dense in (
            (layer.attention, layer.loops, as_matrix(trained.graph, weight)),
            (
                layer.relevance,
                layer.loop_relevance,
                as_matrix(trained.graph, edge_relevance(trained.graph, weight)),
            ),
        ):
            bears = around.hops[around.edges[0]] <= after
            assert values[:, bears] == pytest.approx(dense[:, i, j].numpy()[:, bears], abs=1e-6)
            assert np.isnan(values[:, ~bears]).all()
            bears = around.hops <= after
            own = dense[:, around.nodes, around.nodes].numpy()
            assert loops[:, bears] == pytest.approx(own[:, bears], abs=1e-6)
            assert np.isnan(loops[:, ~bears]).all()


def test_a_layer_s_reach_is_what_arrives_of_the_states_before_it(
    trained: Run, around: Neighbourhood
) -> None:
    weights = layer_weights(trained.network, trained.whole_view())
    product = torch.eye(200, dtype=torch.float64)[None]
    for layer, weight in zip(around.layers[::-1], weights[::-1], strict=True):
        product = product @ as_matrix(trained.graph, weight).double()
        assert layer.reach == pytest.approx(product[:, TARGET, around.nodes].numpy(), abs=1e-7)
    assert around.layers[0].reach == pytest.approx(around.weights)


def test_a_parent_is_the_choose_places_neighbour_one_hop_nearer(around: Neighbourhood) -> None:
    assert around.parents[0] == -1
    weight = around.weights.mean(0)
    for node in range(1, around.nodes.size):
        receiver, sender = around.edges
        near = sender[(receiver == node) & (around.hops[sender] == around.hops[node] - 1)]
        assert weight[around.parents[node]] == weight[near].max()
        assert around.parents[node] in near


def test_a_hub_shows_its_choose_places_and_counts_the_rest() -> None:
    trained = zoo_model("agnn", "hub")
    split = even_split(701)
    everything = Neighbourhood.of(trained, HUB, split)
    few = Neighbourhood.of(trained, HUB, split, limit=20)
    assert everything.nodes.size == 701
    assert everything.left_out == 0
    assert few.nodes.size == 20
    assert few.left_out == 681
    expected = [HUB, *[node for node in everything.nodes.tolist() if node != HUB][:19]]
    assert few.nodes.tolist() == expected
    assert few.weights.sum(1) + few.elsewhere == pytest.approx(np.ones(2), abs=1e-5)
    assert few.elsewhere == pytest.approx(1 - everything.weights[:, :20].sum(1), abs=1e-5)
    assert few.parents.tolist() == [-1] + [0] * 19


@pytest.mark.parametrize("limit", [1, 2, 5, 17])
def test_whatever_is_shown_of_a_neighbourhood_hangs_together(limit: int) -> None:
    trained = zoo_model("agnn", "random")
    for target in (0, 60, 199):
        around = Neighbourhood.of(trained, target, even_split(200), hops=3, limit=limit)
        assert around.nodes.size <= limit
        assert around.target == target
        for node, parent in enumerate(around.parents.tolist()):
            if node == 0:
                assert parent == -1
            else:
                assert around.hops[parent] == around.hops[node] - 1
                assert [node, parent] in around.edges.T.tolist()


def test_a_less_attended_node_is_shown_where_a_more_attended_one_needs_it() -> None:
    """0 - 1 - 2 and 0 - 3: node 2 outweighs 3, and brings 1 with it."""
    weights = np.array([0.4, 0.05, 0.2, 0.35])  # by ring: 0, then 1 and 3, then 2
    graph = Graph.from_edges(np.array([[0, 1, 0], [1, 2, 3]]), nodes=4)
    home = Parents(graph, graph.hop_rings(torch.tensor([0]), 2), weights)
    assert [home[k] for k in range(4)] == [-1, 0, 0, 1]
    assert choose_places(weights, home, 3).tolist() == [0, 1, 3]
    assert choose_places(weights, home, 2).tolist() == [0, 2], "the way of the third does not fit"
    assert choose_places(weights, home, 4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("limit", [2, 5, 17, 60])
def test_the_choice_of_nodes_is_that_of_a_plain_loop_over_all_of_them(limit: int) -> None:
    graph = zoo_graph("random")
    rings = graph.hop_rings(torch.tensor([60]), 4)
    near = torch.cat(rings).tolist()
    hop = [k for k, ring in enumerate(rings) for _ in ring]
    # Coarse, so that many are equal.
    weights = np.random.default_rng(0).integers(1, 6, size=len(near)) / 10
    edges = set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True))
    parents = [-1]
    for k in range(1, len(near)):
        inner = [j for j in range(k) if hop[j] == hop[k] - 1 and (near[k], near[j]) in edges]
        parents.append(max(inner, key=lambda j: (weights[j], -j)))
    shown: set[int] = set()
    for k in sorted(range(len(near)), key=lambda k: (-weights[k], k)):
        way = []
        while k >= 0 and k not in shown:
            way.append(k)
            k = parents[k]
        if len(shown) + len(way) <= limit:
            shown.update(way)
    home = Parents(graph, rings, weights)
    assert choose_places(weights, home, limit).tolist() == sorted(shown)
    assert [home[k] for k in range(len(near))] == parents


def test_the_shares_of_gcn_are_of_all_that_reaches_the_target() -> None:
    trained = zoo_model("gcn", "lopsided")
    around = Neighbourhood.of(trained, 5, even_split(6), hops=1)
    nodes, weights = path_attention(trained, 5)
    share = weights[0] / weights[0].sum()
    expected = dict(zip(nodes.tolist(), share.tolist(), strict=True))
    assert around.shares == pytest.approx([expected[node] for node in around.nodes.tolist()])
    assert weights[0].sum() != pytest.approx(1.0, abs=0.01)


def test_nodes_beyond_the_reach_of_the_layers_have_no_weight() -> None:
    around = Neighbourhood.of(zoo_model("gcn", "path"), 0, even_split(6), hops=4)
    assert around.nodes.tolist() == [0, 1, 2, 3, 4]
    assert (around.weights[:, :3] > 0).all()
    assert (around.weights[:, 3:] == 0).all()
    assert np.isnan(around.layers[0].attention[:, around.edges[0] == 4]).all()


@pytest.mark.parametrize("name", ["one node", "no edges", "isolated nodes"])
def test_a_node_alone_is_its_own_neighbourhood(name: str) -> None:
    around = Neighbourhood.of(zoo_model("agnn", name), 0, even_split(ZOO[name].nodes))
    assert around.nodes.tolist() == [0]
    assert around.edges.shape == (2, 0)
    assert around.weights == pytest.approx(np.ones((2, 1)))
    assert around.elsewhere == pytest.approx([0, 0])


def test_unlabelled_nodes_are_part_of_a_neighbourhood() -> None:
    data = zoo_data("path")
    blank = NodeData.build(
        name="path", features=data.features, labels=[0, -1, 1, 2, -1, 0], edges=data.edges,
        class_names=data.class_names,
    )  # fmt: skip
    around = Neighbourhood.of(run_of(random_model("agnn"), blank), 1, even_split(6))
    assert around.labels[0] == -1


@pytest.mark.parametrize("kind", ["agnn", "gcn"])
@pytest.mark.parametrize("name", ["random", "hub", "path", "one node", "isolated nodes"])
def test_weights_that_are_kept_change_no_number(kind: str, name: str) -> None:
    split = even_split(ZOO[name].nodes)
    trained = zoo_model(kind, name)
    whole = WholeGraph.of(trained)
    for target in {0, ZOO[name].nodes // 2, ZOO[name].nodes - 1}:
        one = Neighbourhood.of(trained, target, split, hops=2, limit=30)
        two = Neighbourhood.of(
            trained, target, split, hops=2, limit=30, reach=reach_of(trained, target, whole)
        )
        assert two.nodes.tolist() == one.nodes.tolist()
        assert two.weights == pytest.approx(one.weights, abs=1e-6)
        assert two.elsewhere == pytest.approx(one.elsewhere, abs=1e-6)
        for first, second in zip(one.layers, two.layers, strict=True):
            for field in ("reach", "flow", "attention", "loops", "relevance", "loop_relevance"):
                expected = pytest.approx(getattr(first, field), abs=1e-5, nan_ok=True)
                assert getattr(second, field) == expected


def test_a_limit_or_a_distance_that_makes_no_sense_is_refused() -> None:
    trained, split = zoo_model("agnn", "path"), even_split(6)
    with pytest.raises(InputError, match=r"`limit` must be at least 1, or None.*got 0\."):
        Neighbourhood.of(trained, 0, split, limit=0)
    with pytest.raises(InputError, match=r"`hops` must not be negative; got -1\."):
        Neighbourhood.of(trained, 0, split, hops=-1)
    with pytest.raises(InputError, match=r"index from 0 to 5; got 6\."):
        Neighbourhood.of(trained, 6, split)


@pytest.mark.parametrize("kind", ["agnn", "gcn", "appnp", "gat"])
def test_flow_is_what_of_a_state_arrives_by_way_of_an_edge(kind: str) -> None:
    """What arrives of each sender in a layer, less what stays there, came over its edges."""
    trained = zoo_model(kind, "lopsided")
    nodes = trained.data.nodes
    found = Neighbourhood.of(trained, nodes - 1, even_split(nodes), hops=nodes)
    paths = model_paths(trained.network, trained.whole_view())
    last = np.zeros_like(found.weights)
    last[:, 0] = 1.0
    after = [*(layer.reach for layer in found.layers[1:]), last]
    for layer, hop, used in zip(found.layers, paths.hops, after, strict=True):
        P = as_matrix(trained.graph, hop.attention).double().numpy()
        P = P[:, found.nodes][:, :, found.nodes]
        receiver, sender = found.edges
        expected = hop.keep * used[:, receiver] * P[:, receiver, sender]
        assert layer.flow == pytest.approx(expected, abs=1e-6)
