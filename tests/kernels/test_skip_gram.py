"""Skip-gram: its step is the loss's gradient, its tables draw by weight, backends agree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from agnn.errors import InputError
from agnn.graph import Walks
from agnn.kernels import (
    Descent,
    hierarchical_skip_gram,
    negative_skip_gram,
    pair_skip_gram,
    random_walks,
)
from agnn.kernels._skip_gram import alias_table, huffman_paths, reference
from properties import FAST_BACKENDS, WIDTHS
from zoo import zoo_graph

WALKS = ((np.arange(60)[:, None] * 4 + np.arange(8)) % 9).astype(np.int32)  # round a ring
RING = np.arange(27)
PAIRS = np.stack([RING % 9, (RING + RING // 9 + 1) % 9])  # one, two and three steps round it
WEIGHTS = np.random.default_rng(2).random(27) + 0.1

EMBEDDINGS = {
    "hierarchical": lambda d, backend, seed=3: hierarchical_skip_gram(
        WALKS, 12, Descent(d, 0.1), 3, 2, seed, backend=backend
    ),
    "negative": lambda d, backend, seed=3: negative_skip_gram(
        WALKS, 12, Descent(d, 0.1), 3, 2, 5, seed, backend=backend
    ),
    "first order": lambda d, backend, seed=3: pair_skip_gram(
        PAIRS, WEIGHTS, 12, Descent(d, 0.1), 1500, 4, seed, is_symmetric=True, backend=backend
    ),
    "second order": lambda d, backend, seed=3: pair_skip_gram(
        PAIRS, WEIGHTS, 12, Descent(d, 0.1), 1500, 4, seed, is_symmetric=False, backend=backend
    ),
}


def loss(v, u, pairs):
    """By its definition: -sum of log s(±u . v_i), + where the label is 1."""
    total = 0.0
    for i, rows, labels in pairs:
        products = u[rows] @ v[i]
        total -= np.log(1.0 / (1.0 + np.exp(-np.where(labels == 1, products, -products)))).sum()
    return total


def slope_by_differences(v, u, pairs, moved):
    """The gradient of the loss at every entry of `moved`, which is v or u."""
    slope, h = np.zeros_like(moved), 1e-6
    for place in np.ndindex(moved.shape):
        kept = moved[place]
        moved[place] = kept + h
        above = loss(v, u, pairs)
        moved[place] = kept - h
        slope[place] = (above - loss(v, u, pairs)) / (2 * h)
        moved[place] = kept
    return slope


def test_a_step_goes_down_the_gradient_of_the_pairs_loss():
    """Pairs share rows and inputs; as the rate goes to 0 the step over it is the gradient."""
    source, rate = np.random.default_rng(4), 1e-7
    v, u = source.normal(size=(2, 6, 5))
    pairs = [
        (0, np.array([1, 2, 3]), np.array([1.0, 0.0, 0.0])),
        (4, np.array([1, 2, 2]), np.array([1.0, 0.0, 0.0])),
        (0, np.array([1, 5]), np.array([1.0, 0.0])),
    ]
    down = [slope_by_differences(v, u, pairs, moved) for moved in (v, u)]
    before = v.copy(), u.copy()
    reference.step(v, u, pairs, rate)
    for slope, old, new in zip(down, before, (v, u), strict=True):
        assert (old - new) / rate == pytest.approx(slope, abs=1e-5)
    assert np.abs(down[0]).max() > 0.1


def test_the_step_of_one_pair_is_exact_at_any_rate():
    v, u = np.array([[0.5, -1.0]]), np.array([[1.0, 2.0], [-3.0, 0.5]])
    s = 1.0 / (1.0 + np.exp(-np.array([-1.5, -2.0])))  # of u . v
    slopes = 0.5 * (np.array([1.0, 0.0]) - s)
    expected_v, expected_u = v[0] + slopes @ u, u + slopes[:, None] * v
    reference.step(v, u, [(0, np.array([0, 1]), np.array([1.0, 0.0]))], 0.5)
    assert v[0] == pytest.approx(expected_v)
    assert u == pytest.approx(expected_u)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", EMBEDDINGS)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_moves_as_the_reference(backend, name, width):
    found, exact = (EMBEDDINGS[name](width, each) for each in (backend, "reference"))
    assert np.abs(found - exact).max() < 1e-4 * np.abs(exact).max()
    assert np.abs(exact).max() > 0.6 / width  # it moved from where it started, at most 0.5 / d
    assert found.dtype == np.float32


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(name):
    one, again, other = (EMBEDDINGS[name](16, "auto", seed) for seed in (3, 3, 4))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_a_node_that_is_never_seen_has_a_vector_of_zeros(name):
    vectors = EMBEDDINGS[name](16, "auto")
    assert not vectors[9:].any()
    assert vectors[:9].any(axis=1).all()


def test_sixteen_logistics_at_once_are_right_up_to_both_ends():
    """The ends are far beyond where float32's exponential overflows."""
    from agnn.kernels._cpu.simd import LANES, jit
    from agnn.kernels._skip_gram.numba_cpu import take_logistic

    @jit
    def logistics(numbers, count):
        take_logistic(numbers, count)

    x = np.concatenate([np.linspace(-20, 20, 13 * LANES), [-1e4, -90, -87, 0, 87, 90, 1e4, 1]])
    found = np.concatenate([x, np.zeros(8)]).astype(np.float32)
    logistics(found, np.uint64(x.size))
    exact = 0.5 + 0.5 * np.tanh(0.5 * x.astype(np.float32).astype(np.float64))
    assert np.abs(found[: x.size] - exact).max() < 3e-7


def test_windows_reach_from_one_to_the_window_and_no_further():
    """Distances 1, 2, 3 with a window of 3 are paired with chances 1, 2/3, 1/3."""
    walk = np.arange(2000, dtype=np.int32)[None]
    pairs = reference.places(walk, Descent(2), 3, 1, reference.Stream(8))
    gaps = [abs(o - i) for o, near, _ in pairs for i in near]
    assert np.bincount(gaps, minlength=4) / 4000 == pytest.approx([0, 1, 2 / 3, 1 / 3], abs=0.03)


def test_the_rate_falls_in_a_straight_line():
    rates = reference.rates(Descent(4, 0.5, 0.1), 4)
    assert rates == pytest.approx([0.5, 0.4, 0.3, 0.2])


def test_neighbours_lie_closer_than_strangers():
    graph = zoo_graph("two components")
    walks = random_walks(graph, Walks(200, 10), 0)
    part = np.flatnonzero(graph.degrees.numpy())
    reached = {int(i): set(walks[walks[:, 0] == i].ravel().tolist()) for i in part}
    for vectors in (
        hierarchical_skip_gram(walks, graph.nodes, Descent(16), 2, 5, 0),
        negative_skip_gram(walks, graph.nodes, Descent(16), 2, 5, 5, 0),
    ):
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        same = [unit[i] @ unit[j] for i in part for j in part if i != j and j in reached[i]]
        apart = [unit[i] @ unit[j] for i in part for j in part if j not in reached[i]]
        assert np.mean(same) > np.mean(apart) + 0.3


def test_huffman_paths_are_a_prefix_code_of_least_length():
    counts = np.array([5, 0, 1, 2, 9, 2])
    paths = huffman_paths(counts)
    ends = paths.offsets.astype(int)
    codes = {
        leaf: tuple(zip(paths.rows[a:b].tolist(), paths.labels[a:b].tolist(), strict=True))
        for leaf, (a, b) in enumerate(pairwise(ends))
    }
    assert codes.pop(1) == ()  # no count, no path
    for one in codes.values():
        assert one[0][0] == paths.inner - 1 == 3  # the root is joined last
        assert sum(one == other[: len(one)] for other in codes.values()) == 1
    # Joining 1 + 2, 2 + 3, 5 + 5, 9 + 10 by hand: inner nodes of 3, 5, 10 and 19.
    assert sum(counts[leaf] * len(code) for leaf, code in codes.items()) == 3 + 5 + 10 + 19


@pytest.mark.parametrize("counts", [[0, 0, 0], [0, 7, 0]])
def test_a_tree_of_no_or_one_leaf_has_no_turns(counts):
    paths = huffman_paths(np.array(counts))
    assert (paths.inner, paths.rows.size, paths.longest) == (0, 0, 0)


def test_an_alias_table_holds_exactly_its_weights():
    weights = np.array([0.0, 3.0, 1.0, 0.5, 10.0, 0.0, 2.0])
    thresholds, aliases = alias_table(weights)
    share = np.bincount(np.arange(7), thresholds) + np.bincount(aliases, 1.0 - thresholds, 7)
    assert share / 7 == pytest.approx(weights / weights.sum())


def test_negatives_follow_the_counts_to_three_quarters():
    noise = alias_table(np.array([1.0, 16.0, 81.0]) ** 0.75)
    stream = reference.Stream(5)
    drawn = [reference.drawn_place(noise, stream) for _ in range(20_000)]
    expected = np.array([1, 8, 27]) / 36
    assert np.bincount(drawn) / 20_000 == pytest.approx(expected, abs=0.02)


def test_no_walks_and_no_pairs_give_zeros():
    empty = np.zeros((0, 5), np.int32)
    assert not hierarchical_skip_gram(empty, 4, Descent(3), 2, 1, 0).any()
    assert not negative_skip_gram(empty, 4, Descent(3), 2, 1, 5, 0).any()
    pairs, weights = np.zeros((2, 0), int), np.zeros(0)
    assert not pair_skip_gram(pairs, weights, 4, Descent(3), 9, 5, 0, is_symmetric=True).any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Descent(0), "`width` must be at least 1; got 0"),
        (lambda: Descent(4, 0.01, 0.1), "`rate` must be above 0 and at least `last_rate`"),
        (lambda: hierarchical_skip_gram(WALKS, 12, Descent(4), 0, 1, 0), "`window` and `passes`"),
        (lambda: hierarchical_skip_gram(WALKS, 5, Descent(4), 2, 1, 0), "nodes from 0 to 4"),
        (lambda: hierarchical_skip_gram(WALKS[0], 12, Descent(4), 2, 1, 0), r"must be \[k, length"),
        (lambda: negative_skip_gram(WALKS, 12, Descent(4), 2, 1, 0, 0), "`negatives` must be"),
        (
            lambda: pair_skip_gram(PAIRS, WEIGHTS, 12, Descent(4), 0, 5, 0, is_symmetric=True),
            "`samples` must be at least 1; got 0",
        ),
        (
            lambda: pair_skip_gram(
                np.ones((2, 3), int), np.ones(3), 4, Descent(4), 9, 5, 0, is_symmetric=True
            ),
            "a pair joins node 1 with itself",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
