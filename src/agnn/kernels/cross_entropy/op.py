"""The loss of all replicas: checks, documentation and differentiation, once for all backends."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels.backends import implementation


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor, backend: ModuleType
    ) -> Tensor:
        losses, slopes = backend.forward(logits, labels, weights)
        ctx.slopes, ctx.backend = slopes, backend
        result: Tensor = losses
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.backend.backward(ctx.slopes, gradients[0]), None, None, None


def cross_entropy(
    logits: Tensor, labels: Tensor, weights: Tensor, *, backend: str = "auto"
) -> Tensor:
    """-sum over k of weights[r, k] log softmax(logits[r, k])[labels[r, k]], Eq. (2) weighted.

    Args:
        logits: [R, k, c].
        labels: [R, k] int64, each from 0 to c - 1.
        weights: [R, k]; 1 / k makes it the mean.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        One loss a replica [R], differentiable in `logits`, once.
    """
    if logits.ndim != 3 or labels.shape != logits.shape[:2] or weights.shape != logits.shape[:2]:
        raise InputError(
            f"`logits` [R, k, c], `labels` [R, k] and `weights` [R, k] do not fit; got "
            f"{list(logits.shape)}, {list(labels.shape)} and {list(weights.shape)}."
        )
    chosen = implementation("cross_entropy", backend, logits.device.type)
    result: Tensor = _CrossEntropy.apply(logits, labels, weights, chosen)  # type: ignore[no-untyped-call]
    return result
