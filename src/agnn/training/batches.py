"""Training nodes in batches: a new order every epoch, drawn for each replica from its seed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import DropoutAt, random_words

# Where the random numbers of the order come from: beyond any place that a model drops at.
ORDER_PLACE = 2**20


def check_batches(counts: Sequence[int], size: int | None) -> None:
    """Refuse replicas that would need different numbers of steps: none must wait for another."""
    if size is None:
        return
    if size < 1:
        raise InputError(f"`batch` must be at least 1; got {size}.")
    steps = sorted({-(-count // size) for count in counts})
    if len(steps) > 1:
        raise InputError(
            f"training sets of {min(counts)} to {max(counts)} nodes make {steps[0]} to {steps[-1]} "
            f"batches of {size}; run replicas with different splits one by one."
        )


def batch_weights(counts: Tensor, longest: int, size: int, draw: DropoutAt) -> Tensor:
    """How much each node counts in each step of an epoch; [steps, R, longest].

    Replica r has `counts[r]` nodes, the first of `longest`. A step takes `size` of them, the last
    one what is left, and averages.
    """
    places = torch.arange(longest, device=counts.device)
    words = random_words(draw, places, torch.zeros_like(places))  # [R, longest], below 2^32
    is_absent = places >= counts[:, None]
    ranks = (words + (is_absent.to(torch.int64) << 33)).argsort(dim=1, stable=True).argsort(dim=1)
    steps = torch.arange(-(-longest // size), device=counts.device)[:, None, None]
    taken = (ranks // size == steps) & ~is_absent  # [steps, R, longest]
    return taken / taken.sum(-1, keepdim=True).clamp(min=1)
