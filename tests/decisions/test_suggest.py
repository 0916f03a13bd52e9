"""What to label next: representative nodes, those already labelled included."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.decisions import suggest
from agnn.decisions._suggest import choose_nodes, describe_nodes
from agnn.errors import InputError
from agnn.runs import evaluate


def groups(sizes: tuple[int, ...], labels: list[int] | None = None) -> NodeData:
    """Groups of nodes with a feature of their own and edges along each group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    noise = 0.01 * np.random.default_rng(0).random((group.size, len(sizes)))
    first = np.flatnonzero(group[:-1] == group[1:])
    return NodeData.build(
        name="groups",
        features=np.eye(len(sizes))[group] + noise,
        labels=[-1] * group.size if labels is None else labels,
        edges=[first, first + 1],
        class_names=("a", "b"),
    )


def total_squares(points: np.ndarray, centres: list[int]) -> float:
    return float(np.square(points[:, None] - points[centres]).sum(2).min(1).sum())


def test_every_group_has_a_suggestion_and_larger_groups_come_first():
    found = suggest(groups((30, 20, 10)), 3)
    assert [node.stands_for for node in found.nodes] == [29, 19, 9]
    assert [0 if n.node < 30 else 1 if n.node < 50 else 2 for n in found.nodes] == [0, 1, 2]
    assert found.nodes[0].reason == "stands for 29 nodes like it"
    assert found.share == 1.0


def test_groups_with_a_label_are_left_out():
    labels = [-1] * 60
    labels[3] = 0  # in the first group
    found = suggest(groups((30, 20, 10), labels), 2)
    assert [node.stands_for for node in found.nodes] == [19, 9]
    assert all(node.node >= 30 for node in found.nodes)
    assert found.share == pytest.approx(30 / 59)
    assert "more like the 1 labelled" in found.sentences[0]


def test_the_first_node_is_the_medoid_and_each_next_the_best_addition(toy):
    points = describe_nodes(toy).astype(np.float64)
    everything = np.arange(toy.nodes)
    none = np.empty(0, dtype=np.int64)
    chosen = choose_nodes(points.astype(np.float32), everything, none, 12).tolist()
    for k in range(12):
        costs = [total_squares(points, [*chosen[:k], node]) for node in range(toy.nodes)]
        assert costs[chosen[k]] == pytest.approx(min(costs), abs=1e-3)


def test_a_batch_continues_where_the_last_one_ended(toy):
    points = describe_nodes(toy)
    everything = np.arange(toy.nodes)
    none = np.empty(0, dtype=np.int64)
    whole = choose_nodes(points, everything, none, 8)
    first = choose_nodes(points, everything, none, 5)
    rest = choose_nodes(points, np.setdiff1d(everything, first), first, 3)
    assert np.concatenate([first, rest]).tolist() == whole.tolist()


def test_a_batch_has_no_two_of_a_kind():
    data = groups((30, 20, 10))
    points = describe_nodes(data)
    found = [node.node for node in suggest(data, 3).nodes]
    for one, other in combinations(found, 2):
        assert np.linalg.norm(points[one] - points[other]) > 1.0


def test_twins_are_not_suggested_and_the_answer_says_so():
    twins = NodeData.build(
        name="twins",
        features=np.eye(3)[[0, 0, 1, 1, 2, 2]],
        labels=[-1] * 6,
        edges=[[], []],
        class_names=("a", "b"),
    )
    found = suggest(twins, 5)
    assert sorted(node.stands_for for node in found.nodes) == [1, 1, 1]
    assert "would repeat one of these" in found.sentences[-1]


def test_only_nodes_that_can_be_labelled_are_suggested():
    data = groups((30, 20, 10))
    found = suggest(data, 2, among=[31, 32, 55])
    assert {node.node for node in found.nodes} <= {31, 32, 55}


def test_neighbours_count_beside_the_own_features():
    # All have the same features but node 5, whose neighbours 6 and 7 are unlike the others by it.
    data = NodeData.build(
        name="star",
        features=np.array([[1, 0]] * 5 + [[0, 1]] + [[1, 0]] * 2),
        labels=[-1] * 8,
        edges=[[0, 1, 2, 5, 5], [1, 2, 3, 6, 7]],
        class_names=("a", "b"),
    )
    points = describe_nodes(data)
    assert points.shape == (8, 6)
    assert np.allclose(np.linalg.norm(points.reshape(8, 3, 2), axis=2), 1.0)
    assert np.allclose(points[6], points[7])
    assert np.linalg.norm(points[6] - points[4]) > 0.5
    mean = np.array([[0.5, 0.5]]) / np.sqrt(0.5)
    assert np.allclose(np.abs(points[6, 2:4]), mean)  # of standardised columns


def test_a_graph_without_features_is_described_by_its_edges(toy):
    bare = NodeData.build(
        name="bare",
        features=np.zeros((toy.nodes, 0)),
        labels=[-1] * toy.nodes,
        edges=toy.edges,
        class_names=("a", "b"),
    )
    found = suggest(bare, 5)
    assert len({node.node for node in found.nodes}) == 5


def test_a_large_graph_is_sampled_and_the_counts_are_of_all_nodes(monkeypatch):
    monkeypatch.setattr("agnn.decisions._suggest._MOST_CANDIDATES", 40)
    monkeypatch.setattr("agnn.decisions._suggest._MOST_REPRESENTED", 50)
    data = groups((300, 200, 100))
    found = suggest(data, 3)
    assert sorted(node.stands_for for node in found.nodes) == [99, 199, 299]


def test_a_run_says_what_it_predicts(tiny):
    run = evaluate("ridge", tiny, "fixed", [0])
    found = suggest(run, 1)
    predictions = run.predict(["5"])
    (node,) = found.nodes
    assert (node.id, node.prediction) == ("5", predictions.classes[0])
    assert node.probability == pytest.approx(predictions.confidence[0])
    assert found.table.records()[0]["prediction"] == node.prediction


@pytest.mark.parametrize(
    ("count", "message"),
    [(0, "must be at least 1; got 0"), (61, "is 61, but 'groups' has 60 nodes without a label")],
)
def test_a_wrong_count_is_refused(count, message):
    with pytest.raises(InputError, match=message):
        suggest(groups((30, 20, 10)), count)


def test_nodes_that_cannot_be_labelled_are_not_counted():
    data = groups((30, 20, 10), [0, 0, *[-1] * 58])
    with pytest.raises(InputError, match="is 3, but 'groups' has 2 nodes without a label in `amon"):
        suggest(data, 3, among=[0, 5, 6])
    with pytest.raises(InputError, match="every node of `among` of 'groups' has a label"):
        suggest(data, 1, among=[0, 1])


def test_a_graph_with_all_labels_has_nothing_to_suggest(toy):
    with pytest.raises(InputError, match="every node of 'toy' has a label"):
        suggest(toy, 1)
