"""The loss of all replicas: interface and definition."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain


class _Backend(Protocol):
    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]: ...

    def backward(self, slopes: Tensor, gradient: Tensor) -> Tensor: ...


class CrossEntropyLink(Link):
    """`cross_entropy` in a chain."""

    def __init__(self, labels: Tensor, weights: Tensor, backend: str) -> None:
        self.labels = labels
        self.weights = weights
        self.backend: _Backend = implementation("cross_entropy", backend, labels.device.type)

    def forward(self, x: Tensor) -> Tensor:
        """One loss per replica [R]."""
        shape = x.shape[:2]
        if x.ndim != 3 or self.labels.shape != shape or self.weights.shape != shape:
            raise InputError(
                f"`logits` [R, k, c], `labels` [R, k] and `weights` [R, k] do not fit; got "
                f"{list(x.shape)}, {list(self.labels.shape)} and {list(self.weights.shape)}."
            )
        losses, slopes = self.backend.forward(x, self.labels, self.weights)
        self.saved = (slopes,)
        return losses

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient at the logits."""
        return self.backend.backward(self.saved[0], gradient), ()


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
        One loss per replica [R], differentiable in `logits`, once.
    """
    return run_chain([CrossEntropyLink(labels, weights, backend)], logits)


def wrong_label(classes: int) -> InputError:
    """The error for a label that is no class."""
    return InputError(f"a label must be from 0 to {classes - 1}; got one that is not.")


def forward(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, k, c]."""
    # On a device the look would wait for it; there, labels are checked where they come from.
    if logits.device.type == "cpu" and not 0 <= labels.min() <= labels.max() < logits.shape[2]:
        raise wrong_label(logits.shape[2])
    logarithms = logits.log_softmax(-1)
    chosen = logarithms.gather(-1, labels[..., None])  # [R, k, 1]
    losses = -(chosen.squeeze(-1) * weights).sum(-1)
    slopes = logarithms.exp().scatter_add(-1, labels[..., None], torch.full_like(chosen, -1.0))
    return losses, slopes * weights[..., None]


def backward(slopes: Tensor, gradient: Tensor) -> Tensor:
    """The gradient at the logits for a gradient [R] at the losses."""
    return slopes * gradient[:, None, None]
