"""tanh(X diag(s)) W + b: the reference equals the dense formula, every backend the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import FeatureMatrix
from agnn.kernels import tanh_linear
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits, gradients


def features(seed: int = 0, dtype=torch.float64) -> tuple[Tensor, FeatureMatrix]:
    """X with an empty row and an empty column, dense and sparse."""
    source = np.random.default_rng(seed)
    X = source.normal(size=(40, 23)) * (source.random((40, 23)) < 0.3)
    X[5], X[:, 7] = 0, 0
    return torch.tensor(X), FeatureMatrix.from_scipy(sparse.csr_array(X), dtype)


def parameters(replicas: int, outputs: int, dtype=torch.float64) -> tuple[Tensor, ...]:
    source = torch.Generator().manual_seed(1)
    shapes = ((replicas, 23), (replicas, 23, outputs), (replicas, outputs))
    return tuple(torch.randn(s, dtype=torch.float64, generator=source).to(dtype) for s in shapes)


@pytest.mark.parametrize("outputs", [1, 7, 16, 33])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_every_backend_is_the_dense_formula_in_output_and_gradients(backend, outputs):
    X, _ = features()
    exact = gradients(
        lambda s, w, b: torch.tanh(X * s[:, None]) @ w + b[:, None], parameters(3, outputs)
    )
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        _, x = features(dtype=dtype)
        found = gradients(
            lambda *p, x=x: tanh_linear(x, *p, backend=backend), parameters(3, outputs, dtype)
        )
        for one, other in zip(found, exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend):
    _, x = features()
    leaves = tuple(each.requires_grad_() for each in parameters(2, 3))
    assert torch.autograd.gradcheck(lambda *p: tanh_linear(x, *p, backend=backend), leaves)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_selected_rows_in_any_order_give_the_same_bits_as_the_whole(backend):
    _, x = features(dtype=torch.float32)
    rows = torch.tensor([30, 3, 12, 7])
    part, whole = x.select(rows), parameters(2, 7, torch.float32)
    found = gradients(lambda *p: tanh_linear(part, *p, backend=backend), whole)
    expected = gradients(lambda *p: tanh_linear(x, *p, backend=backend)[:, rows], whole)
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_threads_and_other_replicas_change_no_bit(backend, monkeypatch):
    from agnn.kernels._cpu import threads

    monkeypatch.setattr(threads, "_WORTH_A_REGION", 1)
    monkeypatch.setattr(threads, "_WORTH_A_POOL", 1)
    _, x = features(dtype=torch.float32)
    p = parameters(3, 7, torch.float32)
    expected = gradients(lambda *p: tanh_linear(x, *p, backend=backend), p)
    torch.set_num_threads(3)
    for one, other in zip(
        gradients(lambda *p: tanh_linear(x, *p, backend=backend), p), expected, strict=True
    ):
        assert_same_bits(one, other)
    alone = tanh_linear(x, *(each[1:2] for each in p), backend=backend)
    assert_same_bits(alone[0], expected[0][1])


@pytest.mark.parametrize(
    ("k", "words"),
    [
        (0, r"`scale` must have shape \[2, 23\]; got \[2, 22\]"),
        (1, r"`weight` must have shape \[R, 23, k\]"),
        (2, r"`bias` must have shape \[2, 3\]; got \[2, 2\]"),
    ],
)
def test_what_does_not_fit_is_refused(k, words):
    p = list(parameters(2, 3))
    p[k] = p[k][:, :-1]
    with pytest.raises(InputError, match=words):
        tanh_linear(features()[1], *p)
