"""The smallest set of neighbours whose removal changes the prediction, against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.explanation import Counterfactual, _removed_edges, without_edges
from agnn.runs import Run
from opened_toys import saved_toy, zoo_run


@pytest.fixture(scope="module")
def opened(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return saved_toy(toy, tmp_path_factory.mktemp("faith") / "run", epochs=60, layers=2)


def neighbours(opened: Run, node: int) -> list[int]:
    graph = opened.graph
    return graph.senders[graph.receivers == node].tolist()


def changing_sets(opened: Run, node: int) -> list[tuple[int, ...]]:
    """Every set of neighbours whose removal changes the answer, by brute force."""
    beside, answer = neighbours(opened, node), opened.probabilities[node].argmax()
    found = []
    for size in range(1, len(beside) + 1):
        for some in combinations(beside, size):
            after = without_edges(opened, node, [(node, j) for j in some])
            if after.argmax() != answer:
                found.append(some)
    return found


def test_a_counterfactual_is_minimal_and_small_ones_are_smallest(opened: Run) -> None:
    degrees, sizes = opened.graph.degrees, set()
    for node in range(5, 70):
        if not 2 <= degrees[node] <= 4:
            continue
        every = changing_sets(opened, node)
        found = Counterfactual.of(opened, node)
        assert (found is None) == (not every)
        if found is None:
            continue
        sizes.add(len(found.nodes))
        assert found.nodes in every
        assert not any(set(other) < set(found.nodes) for other in every)
        fewest = min(len(other) for other in every)
        assert found.is_smallest == (len(found.nodes) <= 3)
        assert len(found.nodes) == fewest or not found.is_smallest
        after = without_edges(opened, node, [(node, j) for j in found.nodes])
        assert found.probabilities == pytest.approx(after)
        assert found.answer == after.argmax() != opened.probabilities[node].argmax()
        assert found.ids == tuple(opened.data.node_ids[j] for j in found.nodes)
    assert {1, 2} <= sizes, "or the search was hardly tried"


def test_with_many_neighbours_pairs_are_not_all_tried_and_the_set_is_minimal(
    opened: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_removed_edges, "_MOST_PAIRS", 0)
    seen = 0
    for node in range(5, 120):
        degree = int(opened.graph.degrees[node])
        found = Counterfactual.of(opened, node) if 3 <= degree <= 5 else None
        if found is None or len(found.nodes) == 1:
            continue
        seen += 1
        assert not found.is_smallest
        assert found.trials < 2**degree
        for j in found.nodes:
            fewer = [(node, k) for k in found.nodes if k != j]
            after = without_edges(opened, node, fewer)
            assert after.argmax() == opened.probabilities[node].argmax()
    assert seen


def test_a_node_without_neighbours_has_no_counterfactual(opened: Run) -> None:
    assert Counterfactual.of(opened, 0) is None


def test_neighbours_that_need_not_go_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, 1 harms most; the answer changes where 2, 3 and 4 are gone, with 1 or without."""

    class Imagined:
        def __init__(self, opened: Run, node: int) -> None:
            assert node == 0

        def probabilities(self, pairs: object) -> np.ndarray:
            gone = {j for _, j in pairs}
            harm = 0.1 * (1 in gone) + 0.05 * len(gone & {2, 3, 4}) + 0.001 * len(gone)
            first = 0.2 if gone >= {2, 3, 4} else 0.9 - harm
            return np.array([first, 0.5 * (1 - first), 0.5 * (1 - first)])

    monkeypatch.setattr(_removed_edges, "Removal", Imagined)
    found = Counterfactual.of(zoo_run("agnn", "complete"), 0)
    assert found.nodes == (2, 3, 4)
    assert found.is_smallest, "no single neighbour and no pair does it"
    monkeypatch.setattr(_removed_edges, "_MOST_PAIRS", 10)
    again = Counterfactual.of(zoo_run("agnn", "complete"), 0)
    assert again.nodes == (2, 3, 4)
    assert not again.is_smallest, "the pairs were not all tried"
