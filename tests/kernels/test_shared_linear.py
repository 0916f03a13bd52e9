"""The first layer on dense features: the reference is the dense product, numba the reference."""

from __future__ import annotations

import pytest
import torch
from scipy import sparse

from agnn.errors import InputError
from agnn.graph import DenseFeatures, SparseFeatures, features_of
from agnn.kernels import (
    Dropout,
    DropoutAt,
    dropout,
    feature_linear,
)
from properties import FAST_BACKENDS, assert_close, assert_same_bits, gradients


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=source, dtype=torch.float64)


X = DenseFeatures(drawn(40, 9), torch.arange(40).flip(0))
WEIGHT, BIAS = drawn(3, 9, 7, seed=1), drawn(3, 7, seed=2)


def dropped(replicas: int = 3) -> DropoutAt:
    stream = Dropout(range(replicas), [0.5, 0.0, 0.8][:replicas])
    stream.epoch += 3
    return stream.at(0)


def mapped(x, weight, bias, drop, backend):
    return gradients(
        lambda w, b: feature_linear(x, w, b, drop=drop, backend=backend), (weight, bias)
    )


@pytest.mark.parametrize("is_dropped", [False, True])
def test_the_reference_is_the_dense_product_in_output_and_gradients(is_dropped):
    drop = dropped() if is_dropped else None
    kept = dropout(X.values.expand(3, -1, -1), X.row_ids, drop, backend="reference")
    expected = gradients(lambda w, b: kept @ w + b[:, None], (WEIGHT, BIAS))
    for one, other in zip(mapped(X, WEIGHT, BIAS, drop, "reference"), expected, strict=True):
        assert_close(one, other, 1e-13)


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, is_dropped):
    drop = dropped() if is_dropped else None
    exact = mapped(X, WEIGHT, BIAS, drop, "reference")
    for one, other in zip(mapped(X, WEIGHT, BIAS, drop, backend), exact, strict=True):
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_a_replica_gives_the_same_bits_alone_and_in_a_batch(backend):
    together = mapped(X, WEIGHT, BIAS, dropped(), backend)[0]
    alone = feature_linear(X, WEIGHT[:1], BIAS[:1], drop=dropped(1), backend=backend)
    assert_same_bits(alone[0], together[0])


def test_dense_and_listed_features_are_dropped_alike():
    found = feature_linear(X, WEIGHT, BIAS, drop=dropped())
    assert_close(found, feature_linear(X.sparse(), WEIGHT, BIAS, drop=dropped()), 1e-12)


def test_short_features_are_widened_on_the_way():
    short = DenseFeatures(X.values.bfloat16(), X.row_ids)
    wide = DenseFeatures(X.values.bfloat16().float(), X.row_ids)
    assert_same_bits(
        feature_linear(short, WEIGHT.float(), BIAS.float()),
        feature_linear(wide, WEIGHT.float(), BIAS.float()),
    )


def test_a_weight_for_other_features_is_refused():
    with pytest.raises(InputError, match=r"`weight` must have shape \[R, 9, d\]"):
        feature_linear(X, WEIGHT[:, :5], BIAS)


def test_features_are_dense_where_many_are_stored():
    full, thin = sparse.csr_array(X.values.numpy()), sparse.csr_array(torch.eye(9).numpy())
    assert isinstance(features_of(full), DenseFeatures)
    assert isinstance(features_of(thin), SparseFeatures)


def standardised_words(rows: int, width: int) -> DenseFeatures:
    """A few words in every row, by columns of mean 0 and variance 1; one is a number."""
    source = torch.Generator().manual_seed(5)
    words = (torch.rand(rows, width, generator=source) < 0.02).double()
    words[:, 3] = torch.rand(rows, generator=source, dtype=torch.float64)
    deviation = words.std(0).clamp(min=1e-3)
    return DenseFeatures((words - words.mean(0)) / deviation, torch.randperm(rows) + 7)


def test_usual_numbers_and_exceptions_are_the_features():
    x = standardised_words(90, 130)
    assert x.usual is not None
    exceptions = torch.zeros_like(x.values)
    entries = x.usual.exceptions
    exceptions[entries.row_of_entry, entries.columns.long()] = entries.values
    assert_close(x.usual.numbers + exceptions, x.values, 1e-15)
    assert entries.values.numel() < 0.05 * x.values.numel()


def test_features_without_usual_numbers_have_none():
    assert X.usual is None
    assert DenseFeatures(torch.zeros(5, 4), torch.arange(5)).usual is None
    assert DenseFeatures(torch.zeros(0, 4), torch.arange(0)).usual is None


@pytest.mark.parametrize("rates", [(0.2, 0.0, 0.8), (0.5, 0.51, 0.49), None])
@pytest.mark.parametrize("width", [7, 64, 70, 144])
def test_features_of_usual_numbers_equal_the_reference(rates, width):
    x = standardised_words(90, 130)
    assert x.usual is not None
    drop = None if rates is None else Dropout(range(3), rates).at(0)
    weight = drawn(3, 130, width, seed=1)
    bias = drawn(3, width, seed=2)
    exact = mapped(x, weight, bias, drop, "reference")
    for one, other in zip(mapped(x, weight, bias, drop, "numba"), exact, strict=True):
        assert_close(one, other, 1e-11)
    without_bias = feature_linear(x, weight, None, drop=drop, backend="numba")
    assert_close(without_bias, exact[0] - bias[:, None], 1e-11)


def test_features_of_usual_numbers_have_the_same_bits_alone_and_in_a_batch():
    x = standardised_words(90, 130)
    slopes = drawn(3, 90, 7, seed=4)

    def of_replicas(replicas: int) -> list[torch.Tensor]:
        weight = drawn(3, 130, 7, seed=1)[:replicas].requires_grad_()
        drop = Dropout(range(replicas), (0.2,) * replicas).at(0)
        out = feature_linear(x, weight, BIAS[:replicas], drop=drop, backend="numba")
        (gradient,) = torch.autograd.grad(out, weight, slopes[:replicas])
        return [out.detach(), gradient]

    for alone, together in zip(of_replicas(1), of_replicas(3), strict=True):
        assert_same_bits(alone[0], together[0])
