"""Right answers on test nodes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from agnn.data import NodeData, Split


def test_accuracies(scores: Tensor, data: NodeData, splits: Sequence[Split]) -> list[float]:
    """The share of right answers among each replica's test nodes, in percent; [R]."""
    answers = scores.argmax(-1).cpu()  # [R, n]
    labels = torch.tensor(data.labels)
    found = []
    for answer, split in zip(answers, splits, strict=True):
        test = torch.tensor(split.test)
        right = int((answer[test] == labels[test]).sum())
        found.append(100.0 * right / test.numel())
    return found


test_accuracies.__test__ = False  # type: ignore[attr-defined] # pytest: not a test
