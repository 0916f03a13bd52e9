"""Bootstrap: its diffusion against the resolvent, and who becomes a seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from agnn.data import Split
from agnn.errors import InputError
from agnn.graph import adjacency, normalise_symmetrically
from agnn.methods._bootstrap import Bootstrap, add_seeds


def test_many_steps_with_a_restart_reach_the_resolvent(toy):
    """F = a (I - (1 - a) S)^-1 Y, the solution of Zhou et al."""
    s = normalise_symmetrically(adjacency(toy.edges, toy.nodes))
    labels = np.full(toy.nodes, -1)
    labels[toy.split("fixed").train] = toy.labels[toy.split("fixed").train]
    y = np.where(labels[:, None] < 0, 0.0, np.where(labels[:, None] == np.arange(3), 1.0, -1.0))
    expected = 0.2 * np.linalg.solve(np.eye(toy.nodes) - 0.8 * s.toarray(), y)
    found = Bootstrap(restart=0.2, steps=200).diffuse(s, labels, 3)
    assert found == pytest.approx(expected, abs=1e-10)


def test_without_a_restart_a_step_is_a_product(toy):
    s = normalise_symmetrically(adjacency(toy.edges, toy.nodes))
    labels = np.full(toy.nodes, -1)
    labels[10] = 2
    y = np.zeros((toy.nodes, 3))
    y[10] = [-1, -1, 1]
    found = Bootstrap(restart=0.0, steps=3).diffuse(s, labels, 3)
    assert found == pytest.approx(np.linalg.matrix_power(s.toarray(), 3) @ y)


def test_the_surest_of_each_class_become_seeds_up_to_its_quota():
    f = np.array([[5, 0], [4, 0], [9, 0], [3, 0], [0, 1], [0, 2], [0, 0], [8, 0.0]])
    labels = np.full(8, -1)
    labels[2] = 1  # a seed already, and it stays what it is
    added = add_seeds(labels, f, np.array([7]), np.array([1.5, 1.0]))
    assert added == 3
    assert labels.tolist() == [0, 0, 1, -1, -1, 1, -1, -1]


def test_validation_nodes_never_become_seeds(toy, monkeypatch):
    seen = []

    def diffuse(self, propagation, labels, classes):
        seen.append(labels.copy())
        return original(self, propagation, labels, classes)

    original = Bootstrap.diffuse
    monkeypatch.setattr(Bootstrap, "diffuse", diffuse)
    split = toy.split("fixed")
    Bootstrap(percent=20.0).scores(toy, split)
    assert len(seen) > 2
    for before, after in pairwise(seen):
        assert (after[before >= 0] == before[before >= 0]).all(), "a seed stays"
        assert (after >= 0).sum() > (before >= 0).sum()
        assert (after[split.validation] < 0).all()


def test_a_split_without_validation_nodes_is_refused(toy):
    split = Split("bare", [*range(20)], [], [*range(20, 60)])
    with pytest.raises(InputError, match="'bare' has no validation nodes to choose the round on"):
        Bootstrap().scores(toy, split)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"restart": 1.5}, "`restart` must be at least 0 and at most 1; got 1.5"),
        ({"steps": 0}, "`steps` must be at least 1"),
        ({"percent": 0.0}, "`percent` must be above 0 and at most 100"),
    ],
)
def test_a_diffusion_that_is_none_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Bootstrap(**fields)
