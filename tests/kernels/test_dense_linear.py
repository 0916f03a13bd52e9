"""The last layer: the reference equals torch's product, every backend the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import Dropout, DropoutAt, dense_linear, dropout
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    WIDTHS,
    assert_close,
    assert_same_bits,
    gradients,
)

ROWS = torch.tensor([9, 2, 30, 31, 5, 11, 4])


def inputs(replicas: int, width: int, outputs: int, dtype: torch.dtype = torch.float64):
    """States, weight and bias."""
    source = torch.Generator().manual_seed(3)
    shapes = ((replicas, len(ROWS), width), (replicas, width, outputs), (replicas, outputs))
    return tuple(torch.randn(shape, generator=source).to(dtype) for shape in shapes)


def drops(replicas: int) -> DropoutAt:
    stream = Dropout(range(replicas), [0.5, 0.0, 0.8][:replicas])
    stream.epoch += 2
    return stream.at(1)


def mapped(given: tuple[Tensor, ...], drop: DropoutAt | None, backend: str) -> tuple[Tensor, ...]:
    """Output and the gradients at states, weight and bias."""
    return gradients(lambda h, w, b: dense_linear(h, w, b, ROWS, drop=drop, backend=backend), given)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize(("width", "outputs"), [(16, 7), (1, 1), (33, 20)])
def test_the_reference_is_dropout_and_a_product_in_output_and_gradients(width, outputs, dropped):
    given, drop = inputs(3, width, outputs), drops(3) if dropped else None

    def plain(h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return dropout(h, ROWS, drop, backend="reference") @ w + b[:, None]

    for one, other in zip(mapped(given, drop, "reference"), gradients(plain, given), strict=True):
        assert_close(one, other, 1e-13)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("outputs", [1, 7, 16, 20])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, width, outputs, replicas, dropped):
    drop = drops(replicas) if dropped else None
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        given = inputs(replicas, width, outputs, dtype)
        exact = mapped(tuple(each.double() for each in given), drop, "reference")
        for one, other in zip(mapped(given, drop, backend), exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_without_a_bias_nothing_is_added(backend):
    h, weight, bias = inputs(2, 16, 7)
    plain = dense_linear(h, weight, None, ROWS, backend=backend)
    assert_close(plain, dense_linear(h, weight, 0 * bias, ROWS, backend=backend), 1e-15)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_strided_states_weights_and_gradients_are_read_right(backend):
    h, weight, bias = inputs(2, 16, 16)
    strided = tuple(each.mT.contiguous().mT for each in (h, weight))
    drop = drops(2)

    def turned(h: Tensor, w: Tensor, b: Tensor) -> Tensor:  # its gradient arrives strided
        return dense_linear(h, w, b, ROWS, drop=drop, backend=backend).mT

    expected = gradients(turned, (h, weight, bias))
    for one, other in zip(gradients(turned, (*strided, bias)), expected, strict=True):
        assert_close(one, other, 1e-14)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck_with_dropout(backend):
    given = tuple(each.requires_grad_() for each in inputs(2, 3, 2))
    drop = drops(2)
    assert torch.autograd.gradcheck(
        lambda h, w, b: dense_linear(h, w, b, ROWS, drop=drop, backend=backend), given
    )


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_rows_of_zero_gradient_in_between_change_no_bit(backend):
    """What lets replicas with their own nodes share a batch."""
    h, weight, bias = inputs(1, 16, 7, torch.float32)
    chosen, g = (
        torch.tensor([1, 2, 5]),
        torch.randn(1, 3, 7, generator=torch.Generator().manual_seed(1)),
    )
    drop, leaves = drops(1), [weight.requires_grad_(), bias.requires_grad_()]
    whole = dense_linear(h, weight, bias, ROWS, drop=drop, backend=backend)[:, chosen]
    part = dense_linear(h[:, chosen], weight, bias, ROWS[chosen], drop=drop, backend=backend)
    assert_same_bits(part.detach(), whole.detach())
    for one, other in zip(
        torch.autograd.grad(part, leaves, g), torch.autograd.grad(whole, leaves, g), strict=True
    ):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_the_order_of_the_rows_changes_no_bit_of_the_sums_over_them(backend):
    """Sums run in the order of `row_ids`, in which a view keeps the whole graph's."""
    h, weight, bias = inputs(1, 16, 7, torch.float32)
    g = torch.randn(1, 7, 7, generator=torch.Generator().manual_seed(1))
    leaves, found = [weight.requires_grad_(), bias.requires_grad_()], []
    for order in (torch.arange(7), torch.argsort(ROWS)):
        out = dense_linear(h[:, order], weight, bias, ROWS[order], backend=backend)
        found.append(torch.autograd.grad(out, leaves, g[:, order]))
    for one, other in zip(*found, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_backward_pass_in_another_epoch_is_refused(backend):
    h, weight, bias = inputs(1, 16, 7)
    stream = Dropout([0], [0.5])
    out = dense_linear(h, weight.requires_grad_(), bias, ROWS, drop=stream.at(0), backend=backend)
    stream.epoch += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize(
    ("h", "weight", "bias", "streams", "words"),
    [
        ((7, 16), (2, 16, 3), (2, 3), None, r"`h` must have shape \[R, n, d\] with n = 7"),
        ((2, 8, 16), (2, 16, 3), (2, 3), None, r"n = 7 rows; got \[2, 8, 16\]"),
        ((2, 7, 16), (2, 15, 3), (2, 3), None, r"of shape \[2, 16, k\]; got torch.float32 \[2, 15"),
        ((2, 7, 16), (3, 16, 3), (2, 3), None, r"of shape \[2, 16, k\]"),
        ((2, 7, 16), (2, 16, 3), (3,), None, r"`bias` must have shape \[R, k\]; got \[3\]"),
        ((2, 7, 16), (2, 16, 3), (2, 3), 3, "3 dropout streams for 2 replicas"),
    ],
)
def test_what_does_not_fit_is_refused(h, weight, bias, streams, words):
    drop = None if streams is None else drops(streams)
    with pytest.raises(InputError, match=words):
        dense_linear(torch.zeros(h), torch.zeros(weight), torch.zeros(bias), ROWS, drop=drop)


def test_a_weight_of_another_type_is_refused():
    h, weight, bias = inputs(1, 16, 7)
    with pytest.raises(InputError, match=r"`weight` must be torch.float64"):
        dense_linear(h, weight.float(), bias, ROWS)
