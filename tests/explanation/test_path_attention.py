"""Attention over all layers against the product of dense matrices, and against what models do."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.explanation import model_paths
from agnn.explanation._reach import layer_weights
from agnn.graph import Graph, Propagation, ReceptiveField, View
from agnn.kernels import Attention, Link
from agnn.networks import NodeModel, Paths
from agnn.networks._agnn import AGNNModel
from agnn.networks._gcn import GCNModel
from agnn.networks._model import ModelShape
from agnn.networks._paths import Hop, last_hop
from agnn.runs import Run
from path_definitions import path_attention, path_rows
from properties import as_matrix, assert_close
from toy_runs import run_of
from zoo import ZOO, zoo_graph
from zoo_models import EXPLAINED, random_model, zoo_data, zoo_model

KINDS = ("agnn", "gcn", "gln")


def paths_of(layers: list[Attention]) -> Paths:
    """Paths by these matrices, of which the last state is read."""
    hops = tuple(Hop(each) for each in layers)
    return Paths(hops, last_hop(len(hops)), is_attention=True)


def dense_layers(trained: Run) -> list[Tensor]:
    """P(1) to P(l) as matrices [R, n, n] float64, from the whole graph."""
    graph, model = trained.graph, trained.network
    if isinstance(model, AGNNModel):
        found = [as_matrix(graph, each) for each in model.attentions(trained.whole_view())]
    else:
        fixed = Propagation.symmetric(graph)
        one = Attention(fixed.edge_weights.expand(2, -1), fixed.loop_weights.expand(2, -1))
        found = [as_matrix(graph, one)] * 2
    return [each.double() for each in found]


def dense_rows(trained: Run, node: int) -> list[Tensor]:
    """The node's row of P(l)...P(t) for every t; each [R, n]."""
    product, rows = torch.eye(trained.data.nodes, dtype=torch.float64)[None], []
    for P in reversed(dense_layers(trained)):
        product = product @ P
        rows.insert(0, product[:, node])
    return rows


def targets(name: str) -> list[int]:
    nodes = ZOO[name].nodes
    return sorted({0, nodes // 2, nodes - 1})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ZOO)
def test_path_attention_is_a_row_of_the_product_of_the_layers(kind: str, name: str) -> None:
    trained = zoo_model(kind, name)
    for node in targets(name):
        nodes, weights = path_attention(trained, node)
        found = torch.zeros(2, trained.data.nodes, dtype=torch.float64)
        found[:, nodes] = weights
        assert_close(found, dense_rows(trained, node)[0], 1e-6)
        assert int(nodes[0]) == node


@pytest.mark.parametrize("kind", KINDS)
def test_every_partial_product_is_there_from_the_first_layer_to_the_last(kind: str) -> None:
    trained = zoo_model(kind, "random")
    view = trained.view_of(17)
    rows = path_rows(view.field, model_paths(trained.network, view))
    expected = dense_rows(trained, 17)
    assert len(rows) == len(expected) == trained.network.hops
    for row, dense in zip(rows, expected, strict=True):
        found = torch.zeros_like(dense)
        found[:, view.field.nodes[: row.shape[1]]] = row
        assert_close(found, dense, 1e-6)


@pytest.mark.parametrize("kind", EXPLAINED)
@pytest.mark.parametrize(
    ("keep", "restart", "mean"), [(1.0, 0.0, True), (0.8, 0.2, False), (0.7, 0.1, True)]
)
def test_paths_follow_the_way_in_which_states_combine(
    kind: str, keep: float, restart: float, mean: bool
) -> None:
    """H(t) = keep P(t) H(t-1) + restart H(0); the last state or the mean over all is read."""
    trained, node = zoo_model(kind, "random"), 17
    view, n = trained.view_of(node), trained.data.nodes
    hops = model_paths(trained.network, view).hops
    count = len(hops) + 1
    combination = (1 / count,) * count if mean else last_hop(len(hops))
    changed = tuple(Hop(hop.attention, keep, restart) for hop in hops)
    rows = path_rows(view.field, Paths(changed, combination, is_attention=True))
    start = torch.eye(n, dtype=torch.float64).expand(2, n, n)
    states = [start]
    for each in layer_weights(trained.network, trained.whole_view()):
        P = as_matrix(trained.graph, each).double()
        states.append(keep * P @ states[-1] + restart * start)
    expected = sum(share * state for share, state in zip(combination, states, strict=True))
    found = torch.zeros(2, n, dtype=torch.float64)
    found[:, view.field.nodes] = rows[0]
    assert_close(found, expected[:, node], 1e-6)


@pytest.mark.parametrize("name", ZOO)
def test_the_attention_that_reaches_a_node_of_agnn_sums_to_one(name: str) -> None:
    trained = zoo_model("agnn", name)
    for node in targets(name):
        _, weights = path_attention(trained, node)
        assert (weights >= 0).all()
        # The hub's softmax sums 701 terms in float32, each rounded to 6e-8.
        assert_close(weights.sum(1), torch.ones(2, dtype=torch.float64), 1e-5)


def test_agnn_answers_by_the_mean_of_its_first_states_under_path_attention() -> None:
    trained = zoo_model("agnn", "random")
    model, view = trained.network, trained.whole_view()
    assert isinstance(model, AGNNModel)
    with torch.no_grad():
        first = torch.relu(model.first(view.features, None, "reference"))  # H(1) [R, n, d]
        logits = model(view)
        for node in (0, 40, 199):
            nodes, weights = path_attention(trained, node)
            mean = (weights[:, None] @ first[:, nodes].double()).squeeze(1)  # [R, d]
            own = (mean[:, None] @ model.last.weight.double()).squeeze(1) + model.last.bias
            assert_close(logits[:, node].double(), own, 1e-5)


def test_gln_answers_by_the_sum_of_its_features_under_the_paths() -> None:
    trained = zoo_model("gln", "random")
    model = trained.network
    assert isinstance(model, GCNModel)
    X = torch.from_numpy(trained.data.scaled_features("sum").toarray()).double()
    with torch.no_grad():
        W = model.first.weight.double() @ model.last.weight.double()
        logits = model(trained.whole_view()).double()
    for node in (0, 40, 199):
        nodes, weights = path_attention(trained, node)
        assert_close(logits[:, node], ((weights @ X[nodes])[:, None] @ W).squeeze(1), 1e-5)


def test_only_nodes_within_as_many_hops_as_layers_are_read() -> None:
    trained = zoo_model("agnn", "path")
    nodes, weights = path_attention(trained, 0)
    assert nodes.tolist() == [0, 1, 2, 3]
    assert weights.shape == (2, 4)
    assert (weights > 0).all()


@pytest.mark.parametrize("name", ["path", "hub", "two components", "isolated nodes", "random"])
def test_rings_are_the_nodes_at_each_distance(name: str) -> None:
    graph, joined = zoo_graph(name), ZOO[name].neighbourhoods().double()
    for node in targets(name):
        seen = torch.eye(graph.nodes, dtype=torch.float64)[node]
        before = torch.zeros(graph.nodes, dtype=torch.bool)
        for ring in graph.hop_rings(torch.tensor([node]), 3):
            reached = seen > 0
            assert ring.tolist() == (reached & ~before).nonzero().squeeze(1).tolist()
            before, seen = reached, seen @ joined


def test_a_field_of_several_targets_is_refused() -> None:
    field = ReceptiveField.around(zoo_graph("path"), torch.tensor([1, 2]), 2)
    with pytest.raises(InputError, match=r"must have one target node; got 2\."):
        path_rows(field, paths_of([]))


def test_weights_of_other_layers_than_the_field_has_are_refused() -> None:
    graph = zoo_graph("path")
    even = Attention(torch.ones(1, graph.edges), torch.ones(1, 6))
    field = ReceptiveField.around(graph, torch.tensor([1]), 2)
    with pytest.raises(InputError, match=r"weights of 1 layers do not fit a field that is 2 deep"):
        path_rows(field, paths_of([even]))
    alone = ReceptiveField.around(graph, torch.tensor([1]), 0)
    with pytest.raises(InputError, match="at least 1"):
        path_rows(alone, paths_of([]))


def test_a_model_that_propagates_otherwise_is_refused() -> None:
    class Other(NodeModel):
        def links(self, view: View, dropout: object) -> list[Link]:
            return []

    view = View.whole(*zoo_model("gcn", "path")._inference.on_device, 1)
    with pytest.raises(
        InputError, match=r"Other cannot be explained: it depends on the node's own features"
    ):
        layer_weights(Other(ModelShape(1, 1, (0,), hops=1)), view)


@pytest.mark.parametrize("node", [-1, 6])
def test_a_node_that_is_not_there_is_refused(node: int) -> None:
    with pytest.raises(InputError, match=rf"index from 0 to 5; got {node}\. For an id use"):
        path_attention(zoo_model("agnn", "path"), node)


def test_the_graph_is_made_once_for_all_questions() -> None:
    trained = run_of(random_model("gcn"), zoo_data("random"))
    assert isinstance(trained.graph, Graph)
    assert trained.graph is trained.graph
