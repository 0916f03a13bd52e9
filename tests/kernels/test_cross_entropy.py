"""The loss: the reference equals torch's cross-entropy, every backend the reference."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import cross_entropy
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits, gradients


def case(
    replicas: int, k: int, classes: int, dtype: torch.dtype = torch.float64, size: float = 1.0
):
    """Logits, labels and weights, one weight of each replica zero."""
    source = torch.Generator().manual_seed(7)
    logits = size * torch.randn(replicas, k, classes, generator=source, dtype=torch.float64)
    labels = torch.randint(classes, (replicas, k), generator=source)
    weights = torch.rand(replicas, k, generator=source, dtype=torch.float64)
    weights[:, -1] = 0.0
    return logits.to(dtype), labels, weights.to(dtype)


def loss(logits: Tensor, labels: Tensor, weights: Tensor, backend: str) -> tuple[Tensor, ...]:
    """The losses and their gradient at the logits."""
    return gradients(lambda z: cross_entropy(z, labels, weights, backend=backend), (logits,))


@pytest.mark.parametrize("shape", [(1, 1, 2), (3, 9, 7), (2, 20, 1)])
def test_the_reference_is_torchs_weighted_cross_entropy_in_value_and_gradient(shape):
    logits, labels, weights = case(*shape)

    def theirs(logits: Tensor) -> Tensor:
        each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return (each.view(labels.shape) * weights).sum(1)

    expected = gradients(theirs, (logits,))
    for one, other in zip(loss(logits, labels, weights, "reference"), expected, strict=True):
        assert_close(one, other, 1e-13, floor=1e-12)


@pytest.mark.parametrize("size", [1.0, 50.0, 3000.0])
@pytest.mark.parametrize("shape", [(1, 1, 2), (3, 9, 7), (2, 140, 3), (1, 30, 40), (2, 5, 1)])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, shape, size):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        logits, labels, weights = case(*shape, dtype, size)
        exact = loss(logits.double(), labels, weights.double(), "reference")
        for one, other in zip(loss(logits, labels, weights, backend), exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance, floor=1e-3)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend):
    logits, labels, weights = case(2, 3, 4)
    assert torch.autograd.gradcheck(
        lambda z: cross_entropy(z, labels, weights, backend=backend), (logits.requires_grad_(),)
    )


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_strided_logits_are_read_right(backend):
    logits, labels, weights = case(2, 9, 7)
    found = loss(logits.mT.contiguous().mT, labels, weights, backend)
    for one, other in zip(found, loss(logits, labels, weights, backend), strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_rows_of_weight_zero_behind_change_no_bit(backend):
    """What fills up a replica's shorter set of nodes."""
    logits, labels, weights = case(1, 9, 7, torch.float32)
    longer = [torch.cat([each, each[:, :4]], dim=1) for each in (logits, labels, weights)]
    longer[2][:, 9:] = 0.0
    value, slopes = loss(*longer, backend)
    plain, plain_slopes = loss(logits, labels, weights, backend)
    assert_same_bits(value, plain)
    assert_same_bits(slopes[:, :9], plain_slopes)
    assert not slopes[:, 9:].any()


@pytest.mark.parametrize(
    ("labels", "weights"), [((2, 8), (2, 9)), ((2, 9), (1, 9)), ((2, 9, 1), (2, 9))]
)
def test_labels_and_weights_that_do_not_fit_are_refused(labels, weights):
    with pytest.raises(InputError, match=r"do not fit; got \[2, 9, 7\]"):
        cross_entropy(torch.zeros(2, 9, 7), torch.zeros(labels).long(), torch.zeros(weights))


@pytest.mark.parametrize("label", [-1, 3])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_label_out_of_range_is_refused(backend, label):
    """Compiled code would read and write beside the row."""
    labels = torch.tensor([[0, label, 1, 2]])
    with pytest.raises(InputError, match="label"):
        cross_entropy(torch.zeros(1, 4, 3), labels, torch.ones(1, 4), backend=backend)
