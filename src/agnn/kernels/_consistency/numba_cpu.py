"""The consistency loss in compiled CPU code, with its gradient in the same pass."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from agnn.kernels._consistency import backward as backward
from agnn.kernels._cpu.simd import jit
from agnn.kernels._cpu.threads import run_in_pieces
from agnn.kernels._runtime.memory import new_tensor


@jit
def _replicas(
    logits: Any, settings: Any, losses: Any, slopes: Any, sharp: Any, first: Any, last: Any
) -> None:
    power, confidence = settings
    _, versions, nodes, c = logits.shape
    zero = logits.dtype.type(0)
    share = 1.0 / (versions * nodes)
    for r in range(first, last):
        loss = 0.0
        q = sharp[r]
        for i in range(nodes):
            for k in range(c):
                q[k] = zero
            for s in range(versions):
                row = logits[r, s, i]
                p = slopes[r, s, i]
                highest = row[0]
                for k in range(1, c):
                    highest = max(highest, row[k])
                total = zero
                for k in range(c):
                    p[k] = math.exp(row[k] - highest)
                    total += p[k]
                for k in range(c):
                    p[k] /= total
                    q[k] += p[k]
            largest = q[0]
            for k in range(1, c):
                largest = max(largest, q[k])
            if largest < confidence * versions:
                for s in range(versions):
                    for k in range(c):
                        slopes[r, s, i, k] = zero
                continue
            total = zero
            for k in range(c):
                q[k] = (q[k] / largest) ** power
                total += q[k]
            for k in range(c):
                q[k] /= total
            for s in range(versions):
                p = slopes[r, s, i]
                inner = zero
                for k in range(c):
                    away = p[k] - q[k]
                    loss += away * away
                    inner += away * p[k]
                for k in range(c):
                    p[k] *= 2.0 * share * (p[k] - q[k] - inner)
        losses[r] = loss * share


def forward(logits: Tensor, temperature: float, confidence: float) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, S, n, c]."""
    source = logits.detach().contiguous()
    losses = torch.empty(source.shape[0], dtype=source.dtype)
    slopes = new_tensor(*source.shape, dtype=source.dtype)
    sharp = torch.empty(source.shape[0], source.shape[3], dtype=source.dtype)
    settings = (1.0 / temperature, float(confidence))
    arguments = (source.numpy(), settings, losses.numpy(), slopes.numpy(), sharp.numpy())
    run_in_pieces(_replicas, arguments, source.shape[0], 4 * source.numel())
    return losses, slopes
