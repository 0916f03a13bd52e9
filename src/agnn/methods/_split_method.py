"""The base class of methods without randomness, which classify one split at a time on the CPU."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.networks import Method, Outcome, Task


@dataclass(frozen=True)
class SplitMethod(Method):
    """A method without randomness: the scores of a split do not depend on the seed."""

    is_random: ClassVar[bool] = False

    @abstractmethod
    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c] from the labels of the training nodes of `split`."""

    def scores_by(self, data: NodeData, split: Split, metric: str | None) -> NDArray[np.float64]:
        """Return `scores`; a method that chooses on validation nodes does so by this metric."""
        return self.scores(data, split)

    def run(self, task: Task) -> Outcome:
        """Return the scores of every replica; each distinct split is computed once."""
        found: dict[int, Tensor] = {}
        for split in task.splits:
            if id(split) not in found:
                own = self.scores_by(task.data, split, task.metric)
                found[id(split)] = torch.from_numpy(own).float()
        return Outcome(torch.stack([found[id(split)] for split in task.splits]).to(task.device))


def one_hot(labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Return [k, c] with a one at each label."""
    return np.eye(classes)[labels]
