"""The first layer: the reference equals the dense product, every backend the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import SparseFeatures
from agnn.kernels import Dropout, DropoutAt, dropout, feature_linear
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    WIDTHS,
    assert_close,
    assert_same_bits,
    gradients,
)


def features(kind: str, dtype: torch.dtype = torch.float64) -> SparseFeatures:
    return SparseFeatures.from_scipy(sparse.csr_array(MATRICES[kind]), dtype)


def _sparse(rows: int, columns: int, density: float) -> np.ndarray:
    source = np.random.default_rng(0)
    return source.normal(size=(rows, columns)) * (source.random((rows, columns)) < density)


def _first_column(rows: int) -> np.ndarray:
    return np.pad(np.ones((rows, 1)), ((0, 0), (0, 1499)))


MATRICES = {
    "ordinary": _sparse(40, 30, 0.2),
    "one entry": np.array([[2.0]]),
    "empty": np.zeros((3, 4)),
    "empty row and column": np.array([[1.0, 0, 2], [0, 0, 0], [3, 0, 4]]),
    # Longer than the blocks of entries that a kernel draws dropout for at once.
    "full row and column": np.vstack([np.ones(1500), np.eye(1200, 1500) + _first_column(1200)]),
}  # fmt: skip


def parameters(
    kind: str, replicas: int, width: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(8)
    shape = (replicas, MATRICES[kind].shape[1], width)
    draws = (torch.randn(each, generator=source) for each in (shape, (replicas, width)))
    weight, bias = (each.to(dtype) for each in draws)
    return weight, bias


def rates(replicas: int, epoch: int = 3) -> DropoutAt:
    stream = Dropout(range(replicas), [0.5, 0.0, 0.8][:replicas])
    stream.epoch += epoch
    return stream.at(0)


def mapped(x: SparseFeatures, weight: Tensor, bias: Tensor, drop: DropoutAt | None, backend: str):
    """Output and the gradients at weight and bias."""
    return gradients(
        lambda w, b: feature_linear(x, w, b, drop=drop, backend=backend), (weight, bias)
    )


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("dropped", [False, True])
def test_the_reference_is_the_dense_product_in_output_and_gradients(kind, dropped):
    X, (weight, bias) = torch.tensor(MATRICES[kind]), parameters(kind, 3, 7)
    drop = rates(3) if dropped else None
    kept = dropout(X.expand(3, -1, -1), torch.arange(len(X)), drop, backend="reference")
    expected = gradients(lambda w, b: kept @ w + b[:, None], (weight, bias))
    found = mapped(features(kind), weight, bias, drop, "reference")
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-13)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, kind, width, replicas, dropped):
    drop = rates(replicas) if dropped else None
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        weight, bias = parameters(kind, replicas, width, dtype)
        x = features(kind, dtype)
        exact = SparseFeatures(x.offsets, x.columns, x.values.double(), x.row_ids, x.width)
        expected = mapped(exact, weight.double(), bias.double(), drop, "reference")
        for one, other in zip(mapped(x, weight, bias, drop, backend), expected, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_without_a_bias_nothing_is_added(backend):
    weight, bias = parameters("ordinary", 2, 7)
    plain = feature_linear(features("ordinary"), weight, backend=backend)
    assert_close(
        plain, feature_linear(features("ordinary"), weight, 0 * bias, backend=backend), 1e-15
    )


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_strided_weights_and_gradients_are_read_right(backend):
    weight, bias = parameters("ordinary", 2, 16)
    strided = weight.transpose(1, 2).contiguous().transpose(1, 2)
    x, drop = features("ordinary"), rates(2)

    def turned(w: Tensor, b: Tensor) -> Tensor:  # its gradient arrives strided
        return feature_linear(x, w, b, drop=drop, backend=backend).transpose(1, 2)

    for one, other in zip(
        gradients(turned, (strided, bias)), gradients(turned, (weight, bias)), strict=True
    ):
        assert_close(one, other, 1e-14)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck_with_dropout(backend):
    weight, bias = (each.requires_grad_() for each in parameters("empty row and column", 2, 3))
    x, drop = features("empty row and column"), rates(2)
    assert torch.autograd.gradcheck(
        lambda w, b: feature_linear(x, w, b, drop=drop, backend=backend), (weight, bias)
    )


@pytest.mark.parametrize("width", [7, 16])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_some_rows_give_the_bits_of_the_whole(backend, width):
    """A pruned X drops the same entries, and zeros for the rows it leaves out change no sum."""
    x = features("ordinary", torch.float32)
    weight, bias = parameters("ordinary", 2, width, torch.float32)
    rows = torch.tensor([31, 4, 17, 0, 38, 22])
    drop = rates(2)
    found = mapped(x.select(rows), weight, bias, drop, backend)
    expected = gradients(
        lambda w, b: feature_linear(x, w, b, drop=drop, backend=backend)[:, rows], (weight, bias)
    )
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_backward_pass_in_another_epoch_is_refused(backend):
    """It would draw other numbers than the forward pass did."""
    weight, bias = (each.requires_grad_() for each in parameters("ordinary", 1, 7))
    stream = Dropout([0], [0.5])
    out = feature_linear(features("ordinary"), weight, bias, drop=stream.at(0), backend=backend)
    stream.epoch += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize(
    ("weight", "bias", "streams", "words"),
    [
        (torch.zeros(30, 7), None, None, r"`weight` must have shape \[R, 30, d\]"),
        (torch.zeros(2, 29, 7), None, None, r"for 30 features; got \[2, 29, 7\]"),
        (torch.zeros(2, 30, 7).double(), None, None, "`weight` is torch.float64"),
        (
            torch.zeros(2, 30, 7),
            torch.zeros(7),
            None,
            r"`bias` must have shape \[R, d\]; got \[7\]",
        ),
        (torch.zeros(2, 30, 7), None, 3, "3 dropout streams for 2 replicas"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(weight, bias, streams, words):
    drop = None if streams is None else rates(streams)
    with pytest.raises(InputError, match=words):
        feature_linear(features("ordinary", torch.float32), weight, bias, drop=drop)
