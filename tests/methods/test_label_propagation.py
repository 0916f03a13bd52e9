"""Label propagation against the harmonic solution."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import LabelPropagation

# A path 0-1-2-3-4 with its ends labelled, and a pair 5-6 that no label reaches.
PATH = NodeData.build(
    name="path", features=np.zeros((7, 0)), labels=[0, 0, 0, 1, 1, 0, 1],
    edges=[[0, 1, 2, 3, 5], [1, 2, 3, 4, 6]], class_names=("a", "b"),
)  # fmt: skip
ENDS = Split("ends", [0, 4], [1], [2, 3, 5, 6])
PLAIN = LabelPropagation(has_mass_normalisation=False, tolerance=1e-12)


def harmonic(data: NodeData, split: Split) -> np.ndarray:
    """F_U = (D_UU - A_UU)^-1 A_UL Y_L, dense, where every node reaches a label."""
    a = np.zeros((data.nodes, data.nodes))
    a[data.edges[0], data.edges[1]] = a[data.edges[1], data.edges[0]] = 1.0
    u = np.setdiff1d(np.arange(data.nodes), split.train)
    f = np.zeros((data.nodes, data.classes))
    f[split.train, data.labels[split.train]] = 1.0
    laplacian = np.diag(a.sum(1)) - a
    f[u] = np.linalg.solve(laplacian[np.ix_(u, u)], a[np.ix_(u, split.train)] @ f[split.train])
    return f


def test_on_a_path_the_labels_fall_off_in_a_straight_line():
    found = PLAIN.scores(PATH, ENDS)
    assert found[:5, 0] == pytest.approx([1, 0.75, 0.5, 0.25, 0])


def test_the_iteration_ends_at_the_harmonic_solution(toy):
    """On the nodes that a label reaches; the others make the system singular."""
    split = toy.split("fixed")
    reached = PLAIN.harmonic(toy, split, np.eye(3)[toy.labels[split.train]]).sum(1) > 1e-3
    keep = np.flatnonzero(reached)
    new = np.cumsum(reached) - 1
    edges = toy.edges[:, reached[toy.edges].all(0)]
    part = NodeData.build(
        name="part", features=np.zeros((keep.size, 0)), labels=toy.labels[keep],
        edges=new[edges], class_names=toy.class_names,
    )  # fmt: skip
    same = Split("same", new[split.train], [], new[np.intersect1d(split.test, keep)])
    assert keep.size > 60
    assert PLAIN.scores(part, same) == pytest.approx(harmonic(part, same), abs=1e-8)


def test_masses_over_unlabelled_nodes_become_the_labels_shares():
    split = Split("three", [0, 1, 4], [], [2, 3])
    f = PLAIN.harmonic(PATH, split, np.eye(2)[[0, 0, 1]])
    others = [2, 3, 5, 6]
    scaled = f * (np.array([2 / 3, 1 / 3]) / f[others].sum(0))
    found = LabelPropagation(tolerance=1e-12).scores(PATH, split)
    assert found[[2, 3]] == pytest.approx(
        scaled[[2, 3]] / scaled[[2, 3]].sum(1, keepdims=True), abs=1e-8
    )


def test_a_node_that_no_label_reaches_gets_the_labels_shares():
    split = Split("three", [0, 1, 4], [], [2, 3])
    assert PLAIN.scores(PATH, split)[5:] == pytest.approx(np.array([[2 / 3, 1 / 3]] * 2))


def test_few_steps_reach_no_farther_than_that():
    found = LabelPropagation(max_steps=1, has_mass_normalisation=False).scores(PATH, ENDS)
    assert found[1] == pytest.approx([1, 0])
    assert found[2] == pytest.approx([0.5, 0.5])  # the labels' shares: not reached yet


def test_no_step_is_refused():
    with pytest.raises(InputError, match="`max_steps` must be at least 1; got 0"):
        LabelPropagation(max_steps=0)
