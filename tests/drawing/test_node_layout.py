"""Places of nodes: apart, near their neighbours, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.drawing import joint_layout, node_layout
from agnn.explanation import Neighbourhood
from zoo_models import even_split, zoo_model


def tree(children: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Edges both ways and parents of a tree whose node k hangs on `children[k - 1]`."""
    parents = np.array([-1, *children])
    nodes = np.arange(1, parents.size)
    forward = np.stack([nodes, parents[1:]])
    return np.hstack([forward, forward[::-1]]), parents


TREES = {
    "pair": [0],
    "star": [0] * 30,
    "two levels": [0, 0, 0, *[1] * 9, *[2] * 4],
    "broom": [0, *[1] * 40],
}


def gaps(place: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """The distance between every two rims."""
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1) - radii[:, None] - radii[None]
    return apart[~np.eye(radii.size, dtype=bool)]


@pytest.mark.parametrize("name", TREES)
def test_no_marks_overlap(name: str) -> None:
    edges, parents = tree(TREES[name])
    radii = np.random.default_rng(0).uniform(0.05, 0.5, parents.size)
    place = node_layout(edges, parents, radii)
    assert place.shape == (parents.size, 2)
    assert gaps(place, radii).min() > 0


@pytest.fixture(scope="module")
def around() -> Neighbourhood:
    return Neighbourhood.of(zoo_model("agnn", "random"), 100, even_split(200), limit=40)


def test_joined_nodes_stand_nearer_than_others(around: Neighbourhood) -> None:
    place = node_layout(around.edges, around.parents, np.full(40, 0.1))
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
    joined = np.zeros((40, 40), dtype=bool)
    joined[tuple(around.edges)] = True
    others = ~joined & ~np.eye(40, dtype=bool)
    assert np.median(apart[joined]) < 0.6 * np.median(apart[others])


def test_the_same_graph_is_drawn_the_same(around: Neighbourhood) -> None:
    first, second = (node_layout(around.edges, around.parents, np.full(40, 0.1)) for _ in range(2))
    assert np.array_equal(first, second)


def test_the_longest_extent_lies_flat(around: Neighbourhood) -> None:
    place = node_layout(around.edges, around.parents, np.full(40, 0.1))
    spread = np.cov(place.T)
    assert spread[0, 0] >= spread[1, 1]
    assert spread[0, 1] == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("seed", [6, 26, 46, 57])
def test_a_node_stands_off_the_edges_of_others(seed: int) -> None:
    """Trees with five edges more, drawn so that without care an edge runs through a mark."""
    source = np.random.default_rng(seed)
    edges, parents = tree([int(source.integers(0, min(node, 3))) for node in range(1, 8)])
    more = np.array([source.choice(8, 2, replace=False) for _ in range(5)]).T
    both = np.unique(np.hstack([edges, more, more[::-1]]), axis=1)
    radii = source.uniform(0.1, 0.5, 8)
    place = node_layout(both, parents, radii)
    for i, j in both.T:
        for node in set(range(8)) - {i, j}:
            along, start = place[j] - place[i], place[node] - place[i]
            share = np.clip(start @ along / (along @ along), 0, 1)
            assert np.linalg.norm(start - share * along) > radii[node]


def test_a_node_alone_stands_in_the_middle() -> None:
    edges = np.zeros((2, 0), dtype=np.int64)
    assert node_layout(edges, np.array([-1]), np.array([0.3])).tolist() == [[0, 0]]


def test_a_node_of_two_neighbourhoods_has_one_position_and_the_target_is_in_the_middle(
    around: Neighbourhood,
) -> None:
    few = Neighbourhood.of(zoo_model("gcn", "random"), 100, even_split(200), limit=15)
    first, second = joint_layout([around, few], [np.full(40, 0.1), np.full(15, 0.2)])
    assert first[0].tolist() == second[0].tolist() == [0, 0]
    shared = [
        (i, around.nodes.tolist().index(node))
        for i, node in enumerate(few.nodes.tolist())
        if node in around.nodes
    ]
    assert len(shared) > 5
    for i, j in shared:
        assert second[i].tolist() == first[j].tolist()
