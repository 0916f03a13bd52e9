"""Rows with mean 0 and variance 1: the reference is the formula, every backend the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.kernels import layer_norm
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    WIDTHS,
    assert_close,
    assert_same_bits,
    gradients,
)


def formula(x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def states(replicas: int, width: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Rows far from zero and rows of equal numbers, whose variance is 0."""
    source = torch.Generator().manual_seed(3)
    x = torch.randn(replicas, 50, width, generator=source, dtype=torch.float64)
    x[:, 10:20] += 8.0
    x[:, 20:25] = 2.0
    return x.to(dtype)


@pytest.mark.parametrize("width", [2, *WIDTHS, 64])
def test_the_reference_is_the_formula_in_output_and_gradient(width):
    x = states(2, width)
    found = gradients(lambda x: layer_norm(x, backend="reference"), (x,))
    for one, other in zip(found, gradients(formula, (x,)), strict=True):
        assert_close(one, other, 1e-10, floor=1.0)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("width", [*WIDTHS, 64])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_formula(backend, width, replicas):
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        x = states(replicas, width, dtype)
        exact = gradients(formula, (x.double(),))
        found = gradients(lambda x: layer_norm(x, backend=backend), (x,))
        for one, other in zip(found, exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance, floor=1.0)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_row_has_the_same_bits_alone(backend):
    x = states(3, 32, torch.float32)
    together = gradients(lambda x: layer_norm(x, backend=backend).square(), (x,), seed=5)[0]
    alone = gradients(lambda x: layer_norm(x, backend=backend).square(), (x[1:2, 7:8],))[0]
    assert_same_bits(together[1:2, 7:8], alone)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend):
    x = states(2, 16)[:, :12].contiguous().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer_norm(x, backend=backend), (x,))
