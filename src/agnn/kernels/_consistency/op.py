"""Consistency of several predictions for a node: checks, documentation and differentiation."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain


class _Backend(Protocol):
    def forward(
        self, logits: Tensor, temperature: float, confidence: float
    ) -> tuple[Tensor, Tensor]: ...

    def backward(self, slopes: Tensor, gradient: Tensor) -> Tensor: ...


class ConsistencyLink(Link):
    """`consistency` in a chain."""

    def __init__(self, temperature: float, confidence: float, backend: str, device: str) -> None:
        if not temperature > 0:
            raise InputError(f"`temperature` must be above 0; got {temperature}.")
        self.temperature, self.confidence = temperature, confidence
        self.backend: _Backend = implementation("consistency", backend, device)

    def forward(self, x: Tensor) -> Tensor:
        """One loss per replica [R]."""
        if x.ndim != 4 or not x.numel():
            raise InputError(f"`logits` must have shape [R, S, n, c]; got {list(x.shape)}.")
        losses, slopes = self.backend.forward(x, self.temperature, self.confidence)
        self.saved = (slopes,)
        return losses

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient at the logits."""
        (slopes,) = self.saved
        return self.backend.backward(slopes, gradient), ()


def consistency(
    logits: Tensor, *, temperature: float, confidence: float = 0.0, backend: str = "auto"
) -> Tensor:
    """How far the S predictions for a node are from their sharpened mean.

        p_s   = softmax(logits_s),  p = mean over s of p_s,  q = p^(1/T) / sum of p^(1/T)
        loss  = mean over all nodes and s of |p_s - q|^2, zero where max p < `confidence`

    No gradient passes through q.

    Args:
        logits: [R, S, n, c], S versions of each of R replicas.
        temperature: T; below 1 the mean is sharpened.
        confidence: nodes whose mean prediction is below count zero; the mean is over all nodes.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        One loss per replica [R], differentiable in `logits`, once.
    """
    link = ConsistencyLink(temperature, confidence, backend, logits.device.type)
    return run_chain([link], logits)
