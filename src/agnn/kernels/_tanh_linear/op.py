"""Features scaled one by one, squashed and mapped: checks, documentation, differentiation."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from agnn.errors import InputError
from agnn.graph import FeatureMatrix
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain


class _Backend(Protocol):
    def forward(self, x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor) -> Tensor: ...

    def backward(
        self, x: FeatureMatrix, scale: Tensor, weight: Tensor, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]: ...


class TanhLinearLink(Link):
    """`tanh_linear` as the start of a chain: it reads the features and no input."""

    def __init__(
        self, x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor, backend: str
    ) -> None:
        _check(x, scale, weight, bias)
        self.x, self.weights = x, (scale, weight, bias)
        self.parameters = self.weights
        self.backend: _Backend = implementation("tanh_linear", backend, weight.device.type)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs [R, n, k]."""
        return self.backend.forward(self.x, *self.weights)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the scale, at the weight and at the bias."""
        scale, weight, _ = self.weights
        return gradient, self.backend.backward(self.x, scale, weight, gradient)


def tanh_linear(
    x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor, *, backend: str = "auto"
) -> Tensor:
    """tanh(X diag(s)) W + b for sparse X: an absent entry stays absent, since tanh(0) = 0.

    Args:
        x: features [n, d_x], shared by all replicas.
        scale: s [R, d_x].
        weight: W [R, d_x, k].
        bias: b [R, k].
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        Outputs [R, n, k], differentiable in `scale`, `weight` and `bias`.
    """
    return run_chain([TanhLinearLink(x, scale, weight, bias, backend)], x.values)


def _check(x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor) -> None:
    if weight.ndim != 3 or weight.shape[1] != x.width:
        raise InputError(
            f"`weight` must have shape [R, {x.width}, k] for {x.width} features; got "
            f"{list(weight.shape)}."
        )
    if weight.dtype != x.values.dtype:
        raise InputError(f"`weight` is {weight.dtype}, the features are {x.values.dtype}.")
    replicas, _, outputs = weight.shape
    if scale.shape != (replicas, x.width) or scale.dtype != weight.dtype:
        raise InputError(
            f"`scale` must have shape [{replicas}, {x.width}]; got {list(scale.shape)}."
        )
    if bias.shape != (replicas, outputs):
        raise InputError(f"`bias` must have shape [{replicas}, {outputs}]; got {list(bias.shape)}.")
