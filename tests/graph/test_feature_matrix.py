"""Sparse features, by rows and by columns, whole and in part."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.graph import FeatureMatrix

SOURCE = np.random.default_rng(3)
X = SOURCE.normal(size=(30, 12)) * (SOURCE.random((30, 12)) < 0.3)
X[4], X[:, 5] = 0, 0


def dense(features: FeatureMatrix) -> Tensor:
    out = torch.zeros(features.rows, features.width, dtype=features.values.dtype)
    out[features.row_of_entry, features.columns.long()] = features.values
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_matrix_is_the_one_given(dtype):
    features = FeatureMatrix.from_scipy(sparse.csr_array(X), dtype)
    assert torch.equal(dense(features), torch.tensor(X, dtype=dtype))
    assert features.row_ids.tolist() == list(range(30))
    assert features.longest_row == (X != 0).sum(1).max()
    assert features.longest_column == (X != 0).sum(0).max()


def test_selected_rows_stand_in_the_order_asked_for_and_keep_their_labels():
    features = FeatureMatrix.from_scipy(sparse.csr_array(X), torch.float64)
    rows = torch.tensor([7, 29, 0, 4])
    part = features.select(rows)
    assert torch.equal(dense(part), torch.tensor(X)[rows])
    assert torch.equal(part.row_ids, rows)
    again = part.select(torch.tensor([2, 0]))
    assert torch.equal(dense(again), torch.tensor(X)[[0, 7]])
    assert again.row_ids.tolist() == [0, 7]


@pytest.mark.parametrize("rows", [list(range(30)), [9, 3, 28, 1]])
def test_columns_list_their_rows_by_label_so_that_sums_keep_their_order(rows):
    features = FeatureMatrix.from_scipy(sparse.csr_array(X), torch.float64).select(
        torch.tensor(rows)
    )
    offsets, at, values = features.by_column
    for column in range(features.width):
        entries = slice(int(offsets[column]), int(offsets[column + 1]))
        labels = features.row_ids[at[entries].long()].tolist()
        assert labels == [row for row in sorted(rows) if X[row, column]]
        assert values[entries].tolist() == [X[row, column] for row in labels]
    assert features.row_ids[features.summation_order].tolist() == sorted(rows)


def test_features_that_are_where_they_should_be_are_not_copied():
    features = FeatureMatrix.from_scipy(sparse.csr_array(X))
    assert features.to("cpu") is features
