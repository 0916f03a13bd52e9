"""What a run says about nodes whose label it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agnn.metrics import held_out, tempered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split
    from agnn.metrics import Ensemble


@dataclass(frozen=True, eq=False)
class Answers:
    """The ensemble at k nodes, each answered by the replicas alone that may be asked about it."""

    nodes: NDArray[np.int64]  # [k] indices in the data, ascending
    probabilities: NDArray[np.float64]  # [k, c] at the run's temperature
    disagreement: NDArray[np.float64]  # [k] share of these replicas with another answer
    truth: NDArray[np.int64]  # [k] -1 where it is not known

    @property
    def classes(self) -> NDArray[np.int64]:
        """[k] The class with the highest probability."""
        return np.asarray(self.probabilities.argmax(1))

    @property
    def confidence(self) -> NDArray[np.float64]:
        """[k] The highest probability."""
        return np.asarray(self.probabilities.max(1))

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """[k] Whether the answer is the truth."""
        return np.asarray(self.classes == self.truth)

    def confusion(self) -> NDArray[np.int64]:
        """[c, c] How many nodes of the row's class were given the column's."""
        known = self.truth >= 0
        c = self.probabilities.shape[1]
        cell = self.truth[known] * c + self.classes[known]
        return np.bincount(cell, minlength=c * c).reshape(c, c)


def answers_on_test(
    scores: Tensor, data: NodeData, splits: Sequence[Split], temperature: float
) -> Answers:
    """The answers at the nodes that some replica of scores [R, n, c] has for test."""
    nodes, means = held_out(scores, splits, "test")
    place = np.full(data.nodes, -1)
    place[nodes] = np.arange(nodes.size)
    asked, other = np.zeros(nodes.size), np.zeros(nodes.size)
    classes = means.argmax(1)
    for own, split in zip(scores.argmax(-1).cpu().numpy(), splits, strict=True):
        here = place[split.test]
        asked[here] += 1
        other[here] += own[split.test] != classes[here]
    return Answers(
        nodes, tempered(means, temperature), other / np.maximum(asked, 1), data.labels[nodes]
    )


def answers_without_label(whole: Ensemble, data: NodeData) -> Answers:
    """The whole ensemble's answers at the nodes that have no label."""
    nodes = np.flatnonzero(data.labels < 0)
    return Answers(nodes, whole.probabilities[nodes], whole.disagreement[nodes], data.labels[nodes])
