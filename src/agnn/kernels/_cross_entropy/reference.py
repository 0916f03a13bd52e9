"""The definition of the loss in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.errors import InputError


def wrong_label(classes: int) -> InputError:
    """The error for a label that is no class."""
    return InputError(f"a label must be from 0 to {classes - 1}; got one that is not.")


def forward(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, k, c]."""
    # On a device the look would wait for it; there, labels are checked where they come from.
    if logits.device.type == "cpu" and not 0 <= labels.min() <= labels.max() < logits.shape[2]:
        raise wrong_label(logits.shape[2])
    logarithms = logits.log_softmax(-1)
    own = logarithms.gather(-1, labels[..., None])  # [R, k, 1]
    losses = -(own.squeeze(-1) * weights).sum(-1)
    slopes = logarithms.exp().scatter_add(-1, labels[..., None], torch.full_like(own, -1.0))
    return losses, slopes * weights[..., None]


def backward(slopes: Tensor, gradient: Tensor) -> Tensor:
    """The gradient at the logits for a gradient [R] at the losses."""
    return slopes * gradient[:, None, None]
