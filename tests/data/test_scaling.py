"""How features are scaled: four ways, the same for new nodes as for the training data."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.data.scaling import suited_scaling
from agnn.errors import InputError


def data(features: object) -> NodeData:
    rows = np.asarray(features, dtype=np.float32)
    return NodeData.build(
        name="own", features=rows, labels=np.zeros(len(rows), int), edges=np.zeros((2, 0), int),
        class_names=("a",),
    )  # fmt: skip


def dense(found: object) -> np.ndarray:
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


ROWS = [[3, 4, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 2, 0]]


def test_sum_is_rows_that_sum_to_one_and_zero_rows_stay():
    found = data(ROWS).scaled_features("sum")
    assert dense(found).sum(1).tolist() == pytest.approx([1, 0, 1, 1])
    assert np.array_equal(dense(found), dense(data(ROWS).scaled_features("sum")))


def test_sums_of_negative_features_mean_nothing_so_they_stay():
    signed = data([[1, -1], [2, 0]])
    assert signed.scaled_features("sum") is signed.features
    # A new node without a negative number is read as the training data was.
    assert dense(data([[2, 2]]).scaled_features("sum", signed)).tolist() == [[2, 2]]


def test_length_is_rows_of_length_one():
    found = dense(data(ROWS).scaled_features("length"))
    assert np.linalg.norm(found, axis=1).tolist() == pytest.approx([1, 0, 1, 1])
    assert found[0].tolist() == pytest.approx([0.6, 0.8, 0, 0])


def test_standard_has_mean_zero_and_variance_one_and_constant_columns_vanish():
    x = np.random.default_rng(0).normal(5.0, 3.0, (50, 4)).astype(np.float32)
    x[:, 2] = 7.0
    found = dense(data(x).scaled_features("standard"))
    assert found.mean(0) == pytest.approx(np.zeros(4), abs=1e-5)
    assert found.std(0) == pytest.approx([1, 1, 0, 1], abs=1e-5)


def test_the_statistics_of_new_nodes_are_those_of_the_training_data():
    known, new = data([[0.0, 1.0], [2.0, 3.0]]), data([[4.0, 2.0]])
    assert dense(new.scaled_features("standard", known)).tolist() == [[3.0, 0.0]]


def test_none_changes_nothing_and_an_unknown_name_is_refused():
    known = data(ROWS)
    assert known.scaled_features("none") is known.features
    with pytest.raises(InputError, match="scaling"):
        known.scaled_features("sums")  # type: ignore[arg-type]


def test_bags_of_words_get_length_and_tables_of_numbers_are_standardised():
    words = np.zeros((10, 40), dtype=np.float32)
    words[np.arange(10), np.arange(10)] = 1
    assert suited_scaling(data(words)) == "length"
    assert suited_scaling(data(np.random.default_rng(0).random((10, 5)))) == "standard"
    assert suited_scaling(data(-words)) == "standard"


def words_with(column: np.ndarray) -> NodeData:
    """200 nodes with some of 100 words each, and one more column."""
    draw = np.random.default_rng(0)
    words = (draw.random((200, 100)) < 0.05).astype(float)
    return NodeData.build(
        name="mixed", features=np.column_stack([words, column]), labels=[0, 1] * 100,
        edges=np.zeros((2, 0), dtype=int), class_names=("a", "b"),
    )  # fmt: skip


def test_a_column_of_large_numbers_does_not_hide_the_words_beside_it() -> None:
    draw = np.random.default_rng(1)
    followers = draw.lognormal(8.0, 1.0, 200)
    assert suited_scaling(words_with(followers)) == "standard"
    assert suited_scaling(words_with(np.ones(200))) == "length"  # a word that all have
    assert suited_scaling(data(np.eye(6)[[0] * 6 + [1, 2, 3, 4]])) == "length"  # a category
    rare = np.where(np.arange(200) % 3 == 0, followers, 0.0)  # not a column of numbers
    assert suited_scaling(words_with(rare)) == "length"


def test_a_matrix_too_large_to_be_dense_is_never_standardised(monkeypatch) -> None:
    monkeypatch.setattr("agnn.data.scaling._MOST_ENTRIES", 200 * 101 - 1)
    assert suited_scaling(words_with(np.arange(1e4, 1.02e4))) == "length"
