"""Confidence: the mean of the replicas, their disagreement, and one temperature."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from agnn.data import Split
from agnn.errors import InputError
from agnn.metrics import (
    SURE,
    UNSURE,
    Calibration,
    Ensemble,
    apply_temperature,
    held_out_predictions,
    leads,
)
from agnn.metrics._ensemble import fit_temperature, helpful_temperature, reliability

SCORES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(2, 4)),
    elements=st.floats(0.01, 1.0),
).map(lambda raw: torch.from_numpy(raw / raw.sum(-1, keepdims=True)))  # fmt: skip


def drawn(seed: int, nodes: int, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [k, 3], and labels drawn from softmax(sharpness * log p): T = 1/sharpness."""
    source = np.random.default_rng(seed)
    stated = source.dirichlet(np.ones(3), size=nodes)
    true = stated**sharpness
    true /= true.sum(1, keepdims=True)
    return stated, (source.random((nodes, 1)) > true.cumsum(1)).sum(1)


def test_sure_and_unsure_mean_the_same_for_two_classes_as_for_more():
    two = np.array([[0.55, 0.45], [0.41, 0.59], [0.64, 0.36], [0.15, 0.85]])
    four = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.7, 0.1, 0.1]])
    np.testing.assert_allclose(leads(two), [0.1, 0.18, 0.28, 0.7])
    np.testing.assert_allclose(leads(four), [0.1, 0.6])
    assert (leads(two) < UNSURE).tolist() == [True, True, False, False]
    assert (leads(two) >= SURE).tolist() == [False, False, False, True]
    assert leads(np.ones((3, 1))).tolist() == [1.0, 1.0, 1.0]  # one class: nothing to doubt


def test_the_calibration_error_is_the_one_counted_by_hand():
    # Two bins of [0.5, 1]: below 0.75 two answers, one right; above, three answers, two right.
    confidence = np.array([0.6, 0.7, 0.8, 0.9, 1.0])
    probabilities = np.stack([confidence, 1 - confidence], axis=1)
    found = reliability(probabilities, np.array([0, 1, 0, 1, 0]), bins=4)
    assert found.count.tolist() == [0, 0, 2, 3]
    assert found.confidence.tolist() == pytest.approx([0, 0, 0.65, 0.9])
    assert found.accuracy.tolist() == pytest.approx([0, 0, 1 / 2, 2 / 3])
    assert found.error == pytest.approx(2 / 5 * 0.15 + 3 / 5 * (0.9 - 2 / 3))
    alone = reliability(probabilities[:1], np.array([1]), bins=4)
    assert (alone.confidence[2], alone.accuracy[2]) == (0.6, 0.0)


@pytest.mark.parametrize("sharpness", [1.0, 0.5, 3.0])
def test_the_temperature_is_one_where_probabilities_are_true_and_finds_what_was_done(sharpness):
    stated, labels = drawn(0, 20_000, sharpness)
    assert fit_temperature(stated, labels) == pytest.approx(1 / sharpness, rel=0.05)


@pytest.mark.parametrize("nodes", [5, 50])
def test_an_answer_that_is_always_right_is_made_as_sure_as_so_many_nodes_can_prove(nodes):
    """Weights that have hardly moved from their start: the right class leads by little."""
    labels = np.arange(nodes) % 4
    even = np.full((nodes, 4), 0.24) + 0.04 * np.eye(4)[labels]
    sure = apply_temperature(even, fit_temperature(even, labels))
    # Laplace's rule of succession: k right of k.
    assert sure[np.arange(nodes), labels] == pytest.approx((nodes + 1) / (nodes + 2), rel=1e-3)


def test_nothing_to_fit_gives_temperature_one():
    assert fit_temperature(np.zeros((0, 3)), np.zeros(0, dtype=np.int64)) == 1.0
    assert helpful_temperature(np.zeros((0, 3)), np.zeros(0, dtype=np.int64)) == 1.0


def test_a_temperature_that_does_not_help_other_nodes_stays_1() -> None:
    source = np.random.default_rng(0)
    sharp = source.dirichlet([1.0, 1.0, 1.0], size=4000)
    labels = np.array([source.choice(3, p=row) for row in sharp])
    # Far too sure: it helps everywhere. As sure as they are right, of few nodes: it is chance.
    assert helpful_temperature(apply_temperature(sharp, 0.4), labels) == pytest.approx(2.5, rel=0.1)
    chosen = [helpful_temperature(sharp[k : k + 20], labels[k : k + 20]) for k in range(0, 800, 20)]
    assert sum(temperature == 1.0 for temperature in chosen) > len(chosen) / 2


@given(SCORES)
def test_temperature_one_is_the_mean_of_the_replicas(scores):
    assert Ensemble.of_scores(scores).probabilities == pytest.approx(scores.mean(0).numpy())


@given(SCORES, st.floats(0.1, 10))
def test_rows_sum_to_one_and_the_order_of_two_classes_never_turns(scores, temperature):
    plain, scaled = Ensemble.of_scores(scores), Ensemble.of_scores(scores, temperature)
    assert scaled.probabilities.sum(1) == pytest.approx(1)
    assert (scaled.disagreement == plain.disagreement).all()
    before = plain.probabilities[:, :, None] - plain.probabilities[:, None]
    after = scaled.probabilities[:, :, None] - scaled.probabilities[:, None]
    assert (before * after >= -1e-12).all()


def test_disagreement_is_the_share_of_replicas_with_another_answer():
    answers = torch.tensor([[0, 1], [0, 2], [0, 2], [1, 2]])  # [R, n]
    scores = torch.nn.functional.one_hot(answers, 3).float()
    found = Ensemble.of_scores(scores)
    assert found.answers.tolist() == [0, 2]
    assert found.disagreement.tolist() == [0.25, 0.25]


def test_a_node_that_no_replica_knows_anything_about_has_all_classes_alike():
    assert Ensemble.of_scores(torch.zeros(2, 1, 4), 0.5).probabilities.tolist() == [[0.25] * 4]


def test_a_replica_that_learned_from_a_node_says_nothing_about_it():
    splits = [Split("a", [0], [1], [2]), Split("b", [2], [1], [0])]
    scores = torch.rand(2, 3, 2, generator=torch.Generator().manual_seed(0)).double()
    scores /= scores.sum(-1, keepdim=True)
    nodes, means = held_out_predictions(scores, splits, "test")
    assert nodes.tolist() == [0, 2]
    assert means == pytest.approx(torch.stack([scores[1, 0], scores[0, 2]]).numpy())
    nodes, means = held_out_predictions(scores, splits, "validation")
    assert nodes.tolist() == [1]
    assert means == pytest.approx(scores[:, 1].mean(0, keepdim=True).numpy())
    with pytest.raises(InputError, match="2 replicas need as many splits; got 1"):
        held_out_predictions(scores, splits[:1], "test")


def test_the_labels_of_test_nodes_do_not_move_the_temperature(toy):
    from dataclasses import replace

    split = toy.split("fixed")
    scores = torch.rand(3, toy.nodes, 3, generator=torch.Generator().manual_seed(0))
    scores /= scores.sum(-1, keepdim=True)
    flipped = toy.labels.copy()
    flipped[split.test] = (flipped[split.test] + 1) % 3
    one = Calibration.of(scores, toy, [split] * 3)
    other = Calibration.of(scores, replace(toy, labels=flipped), [split] * 3)
    assert one.temperature == other.temperature
    assert one.accuracy != other.accuracy
    mean = scores.mean(0).argmax(1).numpy()[split.test]
    assert one.accuracy == pytest.approx(100 * (mean == toy.labels[split.test]).mean())


def test_nodes_in_pieces_give_the_bits_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large graph some thousand nodes at a time are copied."""
    draw = np.random.default_rng(3)
    scores = torch.from_numpy(draw.dirichlet(np.ones(4), size=(3, 50)).astype(np.float32))
    parts = [np.split(draw.permutation(50), [10, 25]) for _ in range(3)]
    splits = [Split("drawn", *nodes) for nodes in parts]
    labels = draw.integers(0, 4, 50)
    nodes, means = held_out_predictions(scores, splits, "test")
    binned = reliability(means, labels[nodes], temperature=0.7)
    tested = [[r for r in range(3) if node in splits[r].test] for node in range(50)]
    assert nodes.tolist() == [node for node in range(50) if tested[node]]
    expected = [scores[tested[node], node].double().mean(0) for node in nodes]
    np.testing.assert_allclose(means, torch.stack(expected), rtol=1e-6)
    whole = apply_temperature(means, 0.7)
    assert binned.error == reliability(whole, labels[nodes]).error
    monkeypatch.setattr("agnn.metrics._ensemble._ROWS_AT_ONCE", 7)
    again, pieces = held_out_predictions(scores, splits, "test")
    np.testing.assert_array_equal(again, nodes)
    np.testing.assert_array_equal(pieces, means)
    in_pieces = reliability(pieces, labels[nodes], temperature=0.7)
    np.testing.assert_array_equal(in_pieces.confidence, binned.confidence)
    np.testing.assert_array_equal(in_pieces.accuracy, binned.accuracy)
