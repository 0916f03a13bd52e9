"""Removing edges and watching the answer: against answers rebuilt edge by edge, and brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from benchmarks.edge_removal import (
    attended_edges,
    attention_agreement,
    chance_falls,
    contributing_edges,
    falls,
    order_by_trial,
    sampled_test_nodes,
    summaries,
)
from scipy.stats import spearmanr

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation import Removal, explain, without_edges
from agnn.runs import Run
from opened_toys import saved_toy, zoo_run
from path_definitions import path_attention


@pytest.fixture(scope="module")
def opened(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return saved_toy(toy, tmp_path_factory.mktemp("faith") / "run", epochs=60, layers=2)


def neighbours(opened: Run, node: int) -> list[int]:
    graph = opened.graph
    return graph.senders[graph.receivers == node].tolist()


def busy_node(opened: Run, fewest: int, most: int = 20) -> int:
    degrees = opened.graph.degrees
    return int(((degrees >= fewest) & (degrees <= most)).nonzero()[0])


def test_a_fall_is_the_answers_probability_before_less_after(opened: Run) -> None:
    node = busy_node(opened, 4)
    order = [(node, j) for j in neighbours(opened, node)]
    found = falls(Removal(opened, node), order, counts=(1, 3))
    answer = opened.probabilities[node].argmax()
    for k, fall, is_changed in zip((1, 3), found.fall, found.is_changed, strict=True):
        after = without_edges(opened, node, order[:k])
        assert fall == pytest.approx(opened.probabilities[node, answer] - after[answer], abs=1e-6)
        assert is_changed == (after.argmax() != answer)


def test_where_no_edge_would_be_left_there_is_no_figure(opened: Run) -> None:
    node = busy_node(opened, 3)
    order = [(node, j) for j in neighbours(opened, node)][:3]
    found = falls(Removal(opened, node), order, counts=(2, 3, 5))
    assert np.isnan(found.fall).tolist() == [False, True, True]
    assert np.isnan(found.is_changed).tolist() == [False, True, True]


def test_chance_is_the_mean_over_all_edges_where_all_are_alike() -> None:
    """A complete graph of equal nodes: whichever edge goes, the same is left."""
    base = zoo_run("agnn", "complete")
    data = base.data
    same = NodeData.build(
        name="same", features=np.ones((20, 9)), labels=data.labels, edges=data.edges,
        class_names=data.class_names,
    )  # fmt: skip
    opened = zoo_run("agnn", "complete", same)
    removal, pool = Removal(opened, 0), attended_edges(opened, 0, is_own=True)
    chance = chance_falls(removal, pool, np.random.default_rng(0))
    assert chance.fall == pytest.approx(falls(removal, pool).fall, abs=1e-6)


def test_chance_draws_from_the_pool_alone(opened: Run) -> None:
    node = busy_node(opened, 4)
    order = [(node, j) for j in neighbours(opened, node)]
    one_by_one = [falls(Removal(opened, node), [each, each], (1,)).fall[0] for each in order]
    drawn = [
        chance_falls(Removal(opened, node), order, np.random.default_rng(seed), (1,)).fall[0]
        for seed in range(20)
    ]
    assert np.mean(drawn) == pytest.approx(np.mean(one_by_one), abs=0.5 * np.std(one_by_one))
    assert min(one_by_one) - 1e-9 <= min(drawn)
    assert max(drawn) <= max(one_by_one) + 1e-9


def test_by_trial_the_edge_that_costs_the_answer_most_comes_first(opened: Run) -> None:
    node = busy_node(opened, 4)
    pool = [(node, j) for j in neighbours(opened, node)]
    answer = opened.probabilities[node].argmax()
    left = {pair: without_edges(opened, node, [pair])[answer] for pair in pool}
    assert order_by_trial(Removal(opened, node), pool) == sorted(pool, key=left.__getitem__)


def test_own_edges_by_contribution_stand_as_in_the_explanation(opened: Run) -> None:
    node = busy_node(opened, 4)
    listed = explain(opened, node, limit=1000).neighbours
    added = {each.node: each.toward_answer for each in listed if each.hops == 1}
    order = [j for _, j in contributing_edges(opened, node)]
    assert order == sorted(added, key=lambda j: -added[j])


def test_sampled_nodes_are_test_nodes_with_two_neighbours(opened: Run) -> None:
    sample = sampled_test_nodes(opened, 1000)
    degrees = opened.graph.degrees
    expected = [n for n in opened.split.test.tolist() if degrees[n] >= 2]
    assert sorted(sample) == sorted(expected)
    assert sampled_test_nodes(opened, 5) == sample[:5]
    assert sampled_test_nodes(opened, 5, seed=1) != sample[:5]
    with pytest.raises(InputError, match=r"no test node has two neighbours or more"):
        sampled_test_nodes(zoo_run("agnn", "no edges"), 5)


def test_a_summary_counts_the_nodes_that_have_a_figure() -> None:
    nan = np.nan
    rows = [np.array([0.1, nan, nan]), np.array([0.3, 0.5, nan])]
    first, second, third = summaries(rows)
    assert (first.n, first.mean) == (2, pytest.approx(0.2))
    assert (second.n, second.mean) == (1, 0.5)
    assert third is None


def test_agreement_is_spearmans_between_all_pairs_of_replicas(opened: Run) -> None:
    nodes = [n for n in range(30) if len(neighbours(opened, n)) >= 3]
    expected = []
    for node in nodes:
        reached, weights = path_attention(opened, node)
        own = weights[:, torch.isin(reached, torch.tensor(neighbours(opened, node)))].numpy()
        expected.append(np.mean([spearmanr(a, b).statistic for a, b in combinations(own, 2)]))
    assert nodes
    found = attention_agreement(opened, range(30))
    assert found.values == pytest.approx(expected)


def test_agreement_needs_replicas_and_neighbours(opened: Run) -> None:
    with pytest.raises(InputError, match=r"none of the nodes has 3 neighbours or more"):
        attention_agreement(opened, [0, 1])
    single = zoo_run("agnn", "random")
    single = replace(single, splits=single.splits[:1])
    with pytest.raises(InputError, match=r"needs 2 replicas or more; the run has 1\."):
        attention_agreement(single, [0])
