"""What the methods that answer one split at a time, on the CPU, have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.methods.protocol import Method, Outcome, Task


@dataclass(frozen=True)
class SplitMethod(Method):
    """A method without randomness: a split has one answer, whatever the seed."""

    @abstractmethod
    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Class probabilities [n, c] from the labels of `split`'s training nodes."""

    def run(self, task: Task) -> Outcome:
        """Every replica's scores; each different split is answered once."""
        found: dict[int, Tensor] = {}
        for split in task.splits:
            if id(split) not in found:
                found[id(split)] = torch.from_numpy(self.scores(task.data, split)).float()
        return Outcome(torch.stack([found[id(split)] for split in task.splits]).to(task.device))


def one_hot(labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """[k, c] with a one at each label."""
    return np.eye(classes)[labels]


def softmax(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Margins [n, c] as probabilities; a margin of -inf has none."""
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
