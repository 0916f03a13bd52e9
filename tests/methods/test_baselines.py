"""The cheap baselines against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import Majority, Ridge, Task
from agnn.methods._baselines import Boosting


def graph_of(features: np.ndarray, labels: np.ndarray, edges: list[tuple[int, int]]) -> NodeData:
    return NodeData.build(
        name="small", features=features, labels=labels, edges=np.array(edges).T,
        class_names=("a", "b", "c")[: labels.max() + 1],
    )  # fmt: skip


@pytest.fixture(scope="module")
def ring() -> NodeData:
    """Sixty nodes on a ring with chords, three numeric columns, three classes."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 3, 60)
    features = np.eye(3)[labels] + draw.normal(size=(60, 3))
    edges = [(k, (k + 1) % 60) for k in range(60)] + [(k, (k + 7) % 60) for k in range(0, 60, 2)]
    return graph_of(features, labels, edges)


SPLIT = Split("thirds", np.arange(0, 30), np.arange(30, 45), np.arange(45, 60))
UNCHOSEN = Split("no validation", np.arange(0, 30), [], np.arange(45, 60))


def test_the_most_frequent_class_of_the_training_nodes_is_predicted(ring):
    labels = ring.labels.copy()
    labels[:20], labels[20:30] = 1, 2
    scores = Majority().scores(graph_of(ring.features.toarray(), labels, ring.edges.T), SPLIT)
    assert scores.shape == (60, 3)
    assert (scores == [0.0, 2 / 3, 1 / 3]).all()


def test_ridge_solves_the_normal_equations_of_all_views(ring):
    """Without validation nodes: the four views side by side, penalty 1."""
    X = ring.features.toarray().astype(np.float64)
    X = np.column_stack([(X - X.mean(0)) / X.std(0), np.ones(60)])
    A = np.zeros((60, 60))
    A[ring.edges[0], ring.edges[1]] = A[ring.edges[1], ring.edges[0]] = 1.0
    A /= A.sum(1, keepdims=True)
    M = np.hstack([X, A @ X, A @ A @ X, X - A @ X])
    Y = np.eye(3)[ring.labels]
    train = UNCHOSEN.train
    W = np.linalg.solve(M[train].T @ M[train] + np.eye(16), M[train].T @ Y[train])
    share = np.clip(M @ W, 1e-6, None)
    share /= share.sum(1, keepdims=True)
    np.testing.assert_allclose(Ridge().scores(ring, UNCHOSEN), share, atol=1e-9)


def test_ridge_on_more_columns_than_labels_solves_the_same_equations():
    draw = np.random.default_rng(4)
    words = (draw.random((60, 200)) < 0.05).astype(np.float64)
    data = graph_of(words, draw.integers(0, 3, 60), [(k, (k + 1) % 60) for k in range(60)])
    only = Ridge(penalties=(2.0,))
    X = words / np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-300)
    X = np.column_stack([X, np.ones(60)])
    A = np.zeros((60, 60))
    A[data.edges[0], data.edges[1]] = A[data.edges[1], data.edges[0]] = 0.5
    M = np.hstack([X, A @ X, A @ A @ X, X - A @ X])
    Y, train = np.eye(3)[data.labels], UNCHOSEN.train
    W = np.linalg.solve(M[train].T @ M[train] + 2 * np.eye(M.shape[1]), M[train].T @ Y[train])
    share = np.clip(M @ W, 1e-6, None)
    share /= share.sum(1, keepdims=True)
    np.testing.assert_allclose(only.scores(data, UNCHOSEN), share, atol=1e-8)


def test_ridge_factors_once_per_penalty_and_not_into_eigenvectors(ring, monkeypatch):
    """An eigendecomposition takes twenty times as long as a Cholesky factor."""

    def refuse(matrix):
        raise AssertionError("an eigendecomposition of " + str(matrix.shape))

    monkeypatch.setattr(np.linalg, "eigh", refuse)
    assert np.isfinite(Ridge().scores(ring, UNCHOSEN)).all()


def test_a_penalty_lost_in_rounding_gives_the_smallest_exact_solution():
    """Two equal columns: M' M + 1e-30 I is singular in double precision."""
    column = np.arange(60.0) % 7
    data = graph_of(
        np.column_stack([column, column]), np.arange(60) % 3, [(k, (k + 1) % 60) for k in range(60)]
    )
    tiny = Ridge(penalties=(1e-30,), views=("X",)).scores(data, UNCHOSEN)
    small = Ridge(penalties=(1e-9,), views=("X",)).scores(data, UNCHOSEN)
    np.testing.assert_allclose(tiny, small, atol=1e-3)


def test_ridge_chooses_the_view_on_validation_nodes():
    """The neighbours' mean alone tells the class: noise in the own columns must not win."""
    draw = np.random.default_rng(5)
    labels = np.repeat([0, 1], 60)
    features = draw.normal(size=(120, 40))
    features[::2, 0] = np.where(labels[::2] == 0, -9.0, 9.0)
    # An odd node learns its class only from its even neighbours, which differ from it in column 0.
    edges = [(k, other) for k in range(1, 120, 2) for other in range(0, 120, 2)
             if labels[k] == labels[other] and draw.random() < 0.2]  # fmt: skip
    data = graph_of(features, labels, edges)
    odd = np.arange(1, 120, 2)
    split = Split("odd", odd[::4], odd[1::4], odd[2::4])
    right = Ridge().scores(data, split).argmax(1) == labels
    assert right[split.test].mean() > 0.9
    own = Ridge(penalties=(1.0,)).scores(data, Split("odd", odd[::4], [], odd[2::4])).argmax(1)
    assert (own == labels)[split.test].mean() <= right[split.test].mean()


def test_ridge_chooses_by_the_error_where_the_metric_is_not_defined(ring):
    """AUC needs two classes, and these validation nodes have one."""
    same = np.flatnonzero(ring.labels == ring.labels[5])
    split = Split("one class", [0, 1, 2, 3, 4, 5], same[same > 5][:2], [])
    task = Task(ring, (split,), (0,), metric="auc")
    assert np.isfinite(Ridge().run(task).scores.numpy()).all()


def test_ridge_on_the_features_alone_does_not_read_the_graph(ring):
    alone = graph_of(ring.features.toarray(), ring.labels, [(0, 1)])
    own = Ridge(views=("X",))
    np.testing.assert_array_equal(own.scores(ring, SPLIT), own.scores(alone, SPLIT))
    assert not np.array_equal(Ridge().scores(ring, SPLIT), Ridge().scores(alone, SPLIT))


def test_boosting_reads_the_neighbours_and_the_degree():
    draw = np.random.default_rng(6)
    labels = np.array([0, 1] * 50)
    hubs = np.flatnonzero(labels == 1)
    edges = {(int(min(h, o)), int(max(h, o))) for h in hubs for o in draw.integers(0, 100, 6)}
    data = graph_of(draw.normal(size=(100, 2)), labels, [e for e in edges if e[0] != e[1]])
    split = Split("half", np.arange(0, 60), np.arange(60, 70), np.arange(70, 100))
    right = Boosting(iterations=30).scores(data, split).argmax(1) == labels
    assert right[split.test].mean() > 0.8  # by degree alone


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ridge(penalties=()), "`penalties` must be above 0"),
        (lambda: Ridge(penalties=(1.0, 0.0)), "`penalties` must be above 0"),
        (lambda: Ridge(views=("X", "A3X")), "`views` must be some of X, AX, A2X, X-AX"),
        (lambda: Boosting(iterations=0), "`iterations` must be at least 1; got 0"),
        (lambda: Boosting(leaf=0), "`leaf` must be at least 1; got 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
