"""Accuracy class by class, with the two ways in which it is uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.evaluation.ensemble import held_out
from agnn.evaluation.summary import Summary
from agnn.evaluation.wilson import Interval, percent_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split


@dataclass(frozen=True)
class ClassAccuracy:
    """Percent of right answers among the test nodes of one class."""

    name: str
    count: int  # test nodes of the class, those of all replicas together
    right: int  # of them, how many the ensemble answers rightly
    interval: Interval | None  # Wilson's, of the ensemble, in percent; None without a test node
    replicas: Summary | None  # of single replicas, or trials; None where none tests the class

    @property
    def ensemble(self) -> float | None:
        """Percent of right answers of the ensemble."""
        return 100.0 * self.right / self.count if self.count else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "class": self.name,
            "test_nodes": self.count,
            "right": self.right,
            "ensemble": self.ensemble,
            "wilson_interval": None if self.interval is None else list(self.interval),
            "replicas": None if self.replicas is None else self.replicas.to_dict(),
        }


def class_accuracies(
    scores: Tensor, data: NodeData, splits: Sequence[Split], folds: int = 1
) -> list[ClassAccuracy]:
    """One entry a class for scores [R, n, c]; every `folds` replicas in a row are one trial.

    Replicas differ by their random start and, where drawn, their split: their mean has a standard
    error. The ensemble is one classifier, and Wilson's interval says how far its share may be off
    because the test nodes are few. A node is answered by the replicas alone that test it.
    """
    nodes, means = held_out(scores, splits, "test")
    truth, answers = data.labels[nodes], means.argmax(1)
    own = _by_trial(scores.argmax(-1).cpu().numpy(), data, splits, folds)
    return [
        _entry(name, truth == label, answers == label, own[label])
        for label, name in enumerate(data.class_names)
    ]


def _entry(
    name: str, is_class: NDArray[np.bool_], is_answer: NDArray[np.bool_], own: Sequence[float]
) -> ClassAccuracy:
    count, right = int(is_class.sum()), int((is_class & is_answer).sum())
    interval = percent_interval(right, count) if count else None
    return ClassAccuracy(name, count, right, interval, Summary(own) if own else None)


def _by_trial(
    answers: NDArray[np.int64], data: NodeData, splits: Sequence[Split], folds: int
) -> list[list[float]]:
    """For each class, percent right in every trial that tests it, its folds taken together."""
    found: list[list[float]] = [[] for _ in data.class_names]
    for first in range(0, len(splits), folds):
        trial = range(first, first + folds)
        tested = np.concatenate([splits[r].test for r in trial])
        given = np.concatenate([answers[r, splits[r].test] for r in trial])
        truth = data.labels[tested]
        count = np.bincount(truth, minlength=data.classes)
        right = np.bincount(truth[given == truth], minlength=data.classes)
        for label in np.flatnonzero(count).tolist():
            found[label].append(100.0 * float(right[label] / count[label]))
    return found
