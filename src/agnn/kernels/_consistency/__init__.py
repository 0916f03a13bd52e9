"""Several predictions for a node: versions of a replica, and how far they agree."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain
from agnn.kernels._runtime.memory import contiguous_copy


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
        self.temperature = temperature
        self.confidence = confidence
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
    """How far the S predictions for a node are from their sharpen mean.

        p_s   = softmax(logits_s),  p = mean over s of p_s,  q = p^(1/T) / sum of p^(1/T)
        loss  = mean over all nodes and s of |p_s - q|^2, zero where max p < `confidence`

    No gradient passes through q.

    Args:
        logits: [R, S, n, c], S versions of each of R replicas.
        temperature: T; below 1 the mean is sharpen.
        confidence: nodes whose mean prediction is below count zero; the mean is over all nodes.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        One loss per replica [R], differentiable in `logits`, once.
    """
    link = ConsistencyLink(temperature, confidence, backend, logits.device.type)
    return run_chain([link], logits)


def sharpen(mean: Tensor, temperature: float) -> Tensor:
    """mean^(1 / temperature), normalised to sum to 1 over the last axis."""
    # Relative to the largest: a small number to a high power leaves float32's range.
    powers = (mean / mean.amax(-1, keepdim=True)).pow(1.0 / temperature)
    return powers / powers.sum(-1, keepdim=True)


def forward(logits: Tensor, temperature: float, confidence: float) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, S, n, c]."""
    _, versions, nodes, _ = logits.shape
    p = logits.softmax(-1)
    mean = p.mean(1, keepdim=True)
    counts = (mean.amax(-1, keepdim=True) >= confidence).to(p.dtype)
    away = (p - sharpen(mean, temperature)) * counts
    share = 1.0 / (versions * nodes)
    losses = away.square().sum((1, 2, 3)) * share
    slopes = 2.0 * share * away
    return losses, p * (slopes - (slopes * p).sum(-1, keepdim=True))


def backward(slopes: Tensor, gradient: Tensor) -> Tensor:
    """The gradient at the logits for a gradient [R] at the losses."""
    return slopes * gradient[:, None, None, None]


class _Versions(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parameter: Tensor, versions: int) -> Tensor:
        ctx.versions = versions
        copies = parameter[:, None].expand(-1, versions, *parameter.shape[1:])
        return contiguous_copy(copies).flatten(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        by_version = gradients[0].view(-1, ctx.versions, *gradients[0].shape[1:]).unbind(1)
        # One after the other: a sum over an axis may group its terms by the size of the others.
        total = contiguous_copy(by_version[0])
        for version in by_version[1:]:
            total += version
        return total, None


def for_versions(parameter: Tensor, versions: int) -> Tensor:
    """A parameter [R, ...] for `versions` versions of each replica; [R * versions, ...].

    Version s of replica r stands at r * versions + s. The gradient of the parameter is the sum
    over the versions.
    """
    if versions == 1:
        return parameter
    result: Tensor = _Versions.apply(parameter, versions)  # type: ignore[no-untyped-call]
    return result
