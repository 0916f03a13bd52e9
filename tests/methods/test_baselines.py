"""The cheap baselines against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from agnn.data import NodeData, Split, make_splits
from agnn.errors import InputError
from agnn.methods import Majority, Ridge, Task, _boosting
from agnn.methods._boosting import Boosting, _divisible


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


def random_words(nodes: int, words: int) -> NodeData:
    draw = np.random.default_rng(8)
    features = (draw.random((nodes, words)) < 0.1).astype(np.float64)
    edges = [(k, (k + 1) % nodes) for k in range(nodes)]
    return graph_of(features, draw.integers(0, 3, nodes), edges)


def left_out_by(case: str) -> list[np.ndarray]:
    """What each of several splits of 120 nodes does not train on."""

    def folds(k: int) -> list[np.ndarray]:
        return [np.arange(r, 120, k) for r in range(k)]

    draw = np.random.default_rng(6)
    drawn = [np.sort(draw.choice(120, 50, replace=False)) for _ in range(3)]
    return {
        "2 folds": folds(2),
        "12 folds": folds(12),
        "folds of some nodes": folds(7)[:3],
        "two passes, draws and all nodes": [*folds(3), np.array([], int), *folds(4), *drawn],
        "one split": folds(3)[:1],
    }[case]


@pytest.mark.parametrize("words", [12, 400], ids=["more rows", "more columns"])
@pytest.mark.parametrize(
    "case",
    ["2 folds", "12 folds", "folds of some nodes", "two passes, draws and all nodes", "one split"],
)
def test_ridge_on_many_splits_gives_each_the_plain_solution(words, case):
    """Splits share products of views, and the elimination of what several of them train on."""
    data = random_words(120, words)
    rest = [np.setdiff1d(np.arange(120), nodes) for nodes in left_out_by(case)]
    splits = tuple(
        Split(f"split {k}", kept, [], np.setdiff1d(np.arange(120), kept))
        for k, kept in enumerate(rest)
    )
    together = Ridge(penalties=(0.05,))._scores(Task(data, splits, (0,) * len(splits)))
    X = data.features.toarray().astype(np.float64)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    X = np.column_stack([X, np.ones(120)])
    A = np.zeros((120, 120))
    A[data.edges[0], data.edges[1]] = A[data.edges[1], data.edges[0]] = 0.5
    M, Y = np.hstack([X, A @ X, A @ A @ X, X - A @ X]), np.eye(3)[data.labels]
    for scores, train in zip(together, rest, strict=True):
        gram = M[train].T @ M[train] + 0.05 * np.eye(M.shape[1])
        share = np.clip(M @ np.linalg.solve(gram, M[train].T @ Y[train]), 1e-6, None)
        np.testing.assert_allclose(scores, share / share.sum(1, keepdims=True), atol=1e-9)


def test_ridge_eliminates_for_many_folds_at_once(monkeypatch):
    """For 12 folds it factors less than one matrix of all rows; a factor for each would be nine."""
    factored = []
    cholesky = scipy.linalg.cholesky

    def counted(matrix, **given):
        factored.append(len(matrix))
        return cholesky(matrix, **given)

    monkeypatch.setattr(scipy.linalg, "cholesky", counted)
    data = random_words(120, 400)
    splits = make_splits(data, "12-fold-cross-fit", [0, 1])
    passes = tuple(k // 12 for k in range(24))
    Ridge().run(Task(data, splits, (0,) * 24, passes=passes))
    assert max(factored) <= 60
    # Four views and all of them, five penalties, two passes.
    assert 0.25 < np.sum(np.array(factored) ** 3.0) / (50 * 120**3) < 0.4


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


def test_boosting_reads_every_column_and_drops_only_those_that_no_tree_could_use():
    rows = np.array([[0, 0, 1, 5], [0, 1, 2, 5], [0, 0, 3, 5], [7, 1, 4, 5.0]])
    assert _divisible(rows, 2).tolist() == [1, 2]
    assert _divisible(rows, 1).tolist() == [0, 1, 2]
    assert _divisible(rows, 3).tolist() == []


def test_boosting_without_the_columns_that_no_tree_could_use_predicts_the_same(monkeypatch):
    data = random_words(120, 40)
    split = Split("half", np.arange(60), np.arange(60, 80), np.arange(80, 120))
    method = Boosting(iterations=8, column_share=1.0)
    fewer = method.scores(data, split)
    everything = lambda rows, _: np.arange(rows.shape[1])  # noqa: E731
    monkeypatch.setattr(_boosting, "_divisible", everything)
    np.testing.assert_allclose(method.scores(data, split), fewer, atol=1e-12)


def test_the_columns_of_boosting_are_those_of_the_definition(ring):
    X = ring.features.toarray().astype(np.float64)
    both = np.concatenate([ring.edges, ring.edges[::-1]], axis=1)
    near = [both[1][both[0] == k] for k in range(60)]
    P = np.zeros((60, 60))
    for k, others in enumerate(near):
        P[k, others] = 1.0 / others.size
    pagerank = np.linalg.solve(np.eye(60) - 0.85 * P.T, np.full(60, 0.15 / 60))
    columns = _boosting._with_neighbours(ring, ring.features.astype(np.float64)).toarray()
    expected = [X, P @ X, [[others.size] for others in near], pagerank[:, None]]
    expected += [[X[others].min(0) for others in near], [X[others].max(0) for others in near]]
    np.testing.assert_allclose(columns, np.hstack(expected), atol=1e-6)


def test_boosting_projects_only_columns_that_do_not_fit(monkeypatch):
    data = random_words(120, 300)
    columns = Boosting()._columns(data, SPLIT)
    assert columns.shape == (120, 602)
    np.testing.assert_array_equal(columns[:, :300].toarray(), data.features.toarray())
    assert Boosting(components=10)._columns(data, SPLIT).shape == (120, 22)
    monkeypatch.setattr(_boosting, "_MOST_ENTRIES", 30 * 200)
    assert Boosting()._columns(data, SPLIT).shape == (120, 2 * 100 + 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ridge(penalties=()), "`penalties` must be above 0"),
        (lambda: Ridge(penalties=(1.0, 0.0)), "`penalties` must be above 0"),
        (lambda: Ridge(views=("X", "A3X")), "`views` must be some of X, AX, A2X, X-AX"),
        (lambda: Boosting(iterations=0), "`iterations` must be at least 1; got 0"),
        (lambda: Boosting(leaf=0), "`leaf` must be at least 1; got 0"),
        (lambda: Boosting(components=0), "`components` must be at least 1; got 0"),
        (lambda: Boosting(leaves=1), "`leaves` must be at least 2; got 1"),
        (lambda: Boosting(column_share=0.0), "`column_share` must be above 0 and at most 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
