"""The definition of the consistency loss in plain torch."""

from __future__ import annotations

from torch import Tensor


def sharpened(mean: Tensor, temperature: float) -> Tensor:
    """mean^(1 / temperature), normalised to sum to 1 over the last axis."""
    # Relative to the largest: a small number to a high power leaves float32's range.
    powers = (mean / mean.amax(-1, keepdim=True)).pow(1.0 / temperature)
    return powers / powers.sum(-1, keepdim=True)


def forward(
    logits: Tensor, temperature: float, confidence: float
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The losses [R], and their gradient at the logits [R, S, n, c]."""
    _, versions, nodes, _ = logits.shape
    p = logits.softmax(-1)
    mean = p.mean(1, keepdim=True)
    counts = (mean.amax(-1, keepdim=True) >= confidence).to(p.dtype)
    away = (p - sharpened(mean, temperature)) * counts
    share = 1.0 / (versions * nodes)
    losses = away.square().sum((1, 2, 3)) * share
    slopes = 2.0 * share * away
    return losses, p * (slopes - (slopes * p).sum(-1, keepdim=True))


def backward(slopes: Tensor, gradient: Tensor) -> Tensor:
    """The gradient at the logits for a gradient [R] at the losses."""
    return slopes * gradient[:, None, None, None]
