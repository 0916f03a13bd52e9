"""The loss in compiled CPU code, with its gradient in the same pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agnn.kernels._cpu.simd import jit
from agnn.kernels._cpu.threads import run_in_pieces
from agnn.kernels._cross_entropy import backward as backward, wrong_label


@jit
def _replicas(
    logits: Any, targets: Any, losses: Any, slopes: Any, wrong: Any, first: Any, last: Any
) -> None:
    labels, weights = targets
    _, k, c = logits.shape
    for r in range(first, last):
        loss = 0.0
        for i in range(k):
            row = logits[r, i]
            slope = slopes[r, i]
            weight = weights[r, i]
            highest = row[0]
            for q in range(1, c):
                highest = max(highest, row[q])
            total = logits.dtype.type(0)
            for q in range(c):
                slope[q] = math.exp(row[q] - highest)
                total += slope[q]
            label = labels[r, i]
            if not 0 <= label < c:
                wrong[0] = True
                return
            loss += weight * (math.log(total) + highest - row[label])
            for q in range(c):
                slope[q] *= weight / total
            slope[label] -= weight
        losses[r] = loss


def forward(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The losses [R], and their gradient at the logits [R, k, c]."""
    source = logits.detach().contiguous()
    losses = torch.empty(source.shape[0], dtype=source.dtype)
    slopes = torch.empty_like(source)
    wrong = np.zeros(1, bool)
    targets = (labels.numpy(), weights.numpy())
    arguments = (source.numpy(), targets, losses.numpy(), slopes.numpy(), wrong)
    run_in_pieces(_replicas, arguments, source.shape[0], source.numel())
    if wrong[0]:
        raise wrong_label(source.shape[2])
    return losses, slopes
