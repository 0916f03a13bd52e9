"""The quick layout: what holds of the slow one, but for edges that may cross marks."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.drawing import QUICK, node_layout
from agnn.explanation import Neighbourhood
from zoo_models import even_split, zoo_model


def quick_layout(edges: np.ndarray, parents: np.ndarray, radii: np.ndarray) -> np.ndarray:
    return node_layout(edges, parents, radii, QUICK)


def star_of_stars(hubs: int, leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges both ways and parents: a target with hubs around it, each with leaves."""
    parents = np.array([-1] + [0] * hubs + [1 + k for k in range(hubs) for _ in range(leaves)])
    nodes = np.arange(1, parents.size)
    forward = np.stack([nodes, parents[1:]])
    return np.hstack([forward, forward[::-1]]), parents


@pytest.mark.parametrize(("hubs", "leaves"), [(1, 0), (3, 4), (170, 0), (12, 24)])
def test_marks_lie_apart(hubs: int, leaves: int) -> None:
    edges, parents = star_of_stars(hubs, leaves)
    radii = np.random.default_rng(0).uniform(0.05, 0.3, parents.size)
    place = quick_layout(edges, parents, radii)
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1) - radii[:, None] - radii
    assert apart[~np.eye(parents.size, dtype=bool)].min() > 0


def test_joined_nodes_stand_nearer_than_others() -> None:
    around = Neighbourhood.of(zoo_model("agnn", "random"), 100, even_split(200), limit=60)
    place = quick_layout(around.edges, around.parents, np.full(60, 0.1))
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
    joined = np.zeros((60, 60), dtype=bool)
    joined[tuple(around.edges)] = True
    others = ~joined & ~np.eye(60, dtype=bool)
    assert np.median(apart[joined]) < 0.6 * np.median(apart[others])


def test_it_is_the_same_every_time() -> None:
    edges, parents = star_of_stars(8, 5)
    first, second = (quick_layout(edges, parents, np.full(parents.size, 0.2)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_node_alone_stands_in_the_middle() -> None:
    edges = np.zeros((2, 0), dtype=np.int64)
    assert quick_layout(edges, np.array([-1]), np.array([0.3])).tolist() == [[0, 0]]
