"""Rows with mean 0 and variance 1: interface and definition."""

from __future__ import annotations

from typing import ClassVar, Final, Protocol

import torch
from torch import Tensor

from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain

EPSILON: Final = 1e-5  # added to the variance


class _Backend(Protocol):
    # The output, and what the backward pass reads.
    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]: ...

    def backward(self, saved: tuple[Tensor, ...], gradient: Tensor) -> Tensor: ...


class LayerNormLink(Link):
    """`layer_norm` in a chain."""

    is_gate: ClassVar[bool] = True

    def __init__(self, device: torch.device, backend: str) -> None:
        self.backend: _Backend = implementation("layer_norm", backend, device.type)

    def forward(self, x: Tensor) -> Tensor:
        """The output."""
        out, self.saved = self.backend.forward(x)
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient at the input."""
        return self.backend.backward(self.saved, gradient), ()


def layer_norm(x: Tensor, *, backend: str = "auto") -> Tensor:
    """(x_i - mean(x_i)) / sqrt(variance(x_i) + 1e-5) for every row i.

    Args:
        x: states [R, n, d].
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The new states [R, n, d], differentiable in `x`.
    """
    return run_chain([LayerNormLink(x.device, backend)], x)


def forward(x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The new states; the input, and the mean and the inverse deviation of its rows."""
    out, means, scales = torch.native_layer_norm(x, x.shape[-1:], None, None, EPSILON)
    return out, (x, means, scales)


def backward(saved: tuple[Tensor, ...], gradient: Tensor) -> Tensor:
    """The gradient at the input."""
    x, means, scales = saved
    operation = torch.ops.aten.native_layer_norm_backward
    is_asked = [True, False, False]  # it has neither a weight nor a bias
    shape = list(x.shape[-1:])
    slopes: Tensor = operation(gradient, x, shape, means, scales, None, None, is_asked)[0]
    return slopes
