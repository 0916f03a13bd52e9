"""Consistency of versions: the reference equals its formula, every backend the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import consistency
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits, gradients

SHAPES = [(1, 2, 1, 2), (3, 2, 9, 7), (2, 4, 20, 3), (1, 3, 5, 40), (2, 1, 5, 1)]


def logits(*shape: int, size: float = 2.0) -> Tensor:
    source = torch.Generator().manual_seed(7)
    return size * torch.randn(shape, generator=source, dtype=torch.float64)


def definition(z: Tensor, temperature: float, confidence: float) -> Tensor:
    """The mean over all nodes and versions of |p_s - q|^2, q without a gradient."""
    p = z.softmax(-1)
    mean = p.mean(1).detach()
    q = mean ** (1 / temperature)
    q = q / q.sum(-1, keepdim=True)
    distance = (p - q[:, None]).square().sum(-1).mean(1)  # [R, n]
    return (distance * (mean.amax(-1) >= confidence)).mean(1)


@pytest.mark.parametrize("confidence", [0.0, 0.4])
@pytest.mark.parametrize("temperature", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_is_the_definition_in_value_and_gradient(shape, temperature, confidence):
    chosen = {"temperature": temperature, "confidence": confidence}
    found = gradients(lambda z: consistency(z, **chosen, backend="reference"), (logits(*shape),))
    expected = gradients(lambda z: definition(z, temperature, confidence), (logits(*shape),))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-12, floor=1e-10)


@pytest.mark.parametrize("size", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, shape, size):
    for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 1e-5)):
        z = logits(*shape, size=size).to(dtype)
        chosen = {"temperature": 0.3, "confidence": 0.35}
        found = gradients(lambda x: consistency(x, **chosen, backend=backend), (z,))  # noqa: B023
        exact = gradients(
            lambda x: consistency(x, **chosen, backend="reference"),  # noqa: B023
            (z.double(),),
        )
        for one, other in zip(found, exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance, floor=1e-3)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_a_replica_has_the_same_bits_alone(backend):
    z = logits(3, 2, 11, 5).float()
    together = gradients(lambda x: consistency(x, temperature=0.5, backend=backend), (z,))
    for r in range(3):
        alone = consistency(z[r : r + 1], temperature=0.5, backend=backend)
        assert_same_bits(together[0][r : r + 1], alone)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_versions_that_agree_surely_have_no_loss(backend):
    sure = torch.zeros(1, 2, 3, 4)
    sure[..., 1] = 60.0
    assert float(consistency(sure, temperature=0.5, backend=backend)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_unsure_nodes_count_zero_in_the_mean(backend):
    z = logits(1, 2, 4, 3)
    z[:, :, 2:] = 0.0  # a third for each class
    found = consistency(z, temperature=0.5, confidence=0.34, backend=backend)
    half = consistency(z[:, :, :2], temperature=0.5, confidence=0.34, backend=backend)
    assert_close(found, half / 2, 1e-12)


def test_what_cannot_be_computed_is_refused():
    with pytest.raises(InputError, match=r"\[R, S, n, c\]"):
        consistency(torch.zeros(2, 3, 4), temperature=0.5)
    with pytest.raises(InputError, match="`temperature` must be above 0"):
        consistency(torch.zeros(1, 2, 3, 4), temperature=0.0)
