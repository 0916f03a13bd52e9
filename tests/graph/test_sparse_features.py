"""Sparse features, by rows and by columns, whole and in part."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.graph import SparseFeatures, _features as features_module, features_of

SOURCE = np.random.default_rng(3)
X = SOURCE.normal(size=(30, 12)) * (SOURCE.random((30, 12)) < 0.3)
X[4], X[:, 5] = 0, 0


def dense(features: SparseFeatures) -> Tensor:
    out = torch.zeros(features.rows, features.width, dtype=features.values.dtype)
    out[features.row_of_entry, features.columns.long()] = features.values
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_matrix_is_the_one_given(dtype):
    features = SparseFeatures.from_scipy(sparse.csr_array(X), dtype)
    assert torch.equal(dense(features), torch.tensor(X, dtype=dtype))
    assert features.row_ids.tolist() == list(range(30))
    assert features.longest_row == (X != 0).sum(1).max()
    assert features.longest_column == (X != 0).sum(0).max()


def test_selected_rows_stand_in_the_order_asked_for_and_keep_their_labels():
    features = SparseFeatures.from_scipy(sparse.csr_array(X), torch.float64)
    rows = torch.tensor([7, 29, 0, 4])
    part = features.select(rows)
    assert torch.equal(dense(part), torch.tensor(X)[rows])
    assert torch.equal(part.row_ids, rows)
    again = part.select(torch.tensor([2, 0]))
    assert torch.equal(dense(again), torch.tensor(X)[[0, 7]])
    assert again.row_ids.tolist() == [0, 7]


@pytest.mark.parametrize("rows", [list(range(30)), [9, 3, 28, 1]])
def test_columns_list_their_rows_by_label_so_that_sums_keep_their_order(rows):
    features = SparseFeatures.from_scipy(sparse.csr_array(X), torch.float64).select(
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
    features = SparseFeatures.from_scipy(sparse.csr_array(X))
    assert features.to("cpu") is features


def test_a_large_full_matrix_is_read_where_it_lies(monkeypatch, recwarn):
    full = sparse.csr_array(np.random.default_rng(0).random((30, 7), np.float32) + 1)
    full.data.setflags(write=False)
    expected = torch.from_numpy(full.toarray())
    assert features_of(full).values.data_ptr() != full.data.ctypes.data
    monkeypatch.setattr(features_module, "_WORTH_SHARING", 1)
    found = features_of(full)
    assert found.values.data_ptr() == full.data.ctypes.data
    assert torch.equal(found.values, expected)
    assert not recwarn.list
    # Of another type, or not in the order of the columns: a copy.
    assert torch.equal(features_of(full, torch.float64).values, expected.double())
    turned = sparse.csr_array((full.data, full.indices[::-1].copy(), full.indptr), full.shape)
    assert torch.equal(features_of(turned).values, torch.from_numpy(turned.toarray()))
