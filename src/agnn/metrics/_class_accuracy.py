"""Accuracy per class, with both kinds of uncertainty."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.metrics._ensemble import held_out_predictions
from agnn.metrics._measures import Interval, Summary, percent_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split


@dataclass(frozen=True)
class ClassAccuracy:
    """Percent of correct predictions among the test nodes of one class."""

    name: str
    count: int  # test nodes of the class, over all replicas
    right: int  # of them, how many the ensemble predicts correctly
    interval: Interval | None  # Wilson's, of the ensemble, in percent; None without test nodes
    replicas: Summary | None  # per replica or trial; None if none tests the class

    @property
    def ensemble(self) -> float | None:
        """Percent of correct predictions of the ensemble."""
        return 100.0 * self.right / self.count if self.count else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "class": self.name,
            "test_nodes": self.count,
            "right": self.right,
            "ensemble": self.ensemble,
            "wilson_interval": None if self.interval is None else list(self.interval),
            "replicas": None if self.replicas is None else self.replicas.to_dict(),
        }


def class_accuracies(
    scores: Tensor,
    data: NodeData,
    splits: Sequence[Split],
    folds: int = 1,
    *,
    members: Sequence[int] | None = None,
    unusable: Container[int] = (),
) -> list[ClassAccuracy]:
    """Return one entry per class for scores [R, n, c]; `folds` consecutive replicas are one trial.

    `members` are the replicas that form the ensemble, all by default; the means over replicas
    leave out those that are `unusable`.

    Replicas differ by their initial weights and, if drawn, their split: their mean has a standard
    error. The ensemble is a single classifier; Wilson's interval covers the uncertainty due to the
    number of test nodes. A node is predicted only by the replicas that have it for test.
    """
    chosen = list(range(len(splits)) if members is None else members)
    nodes, means = held_out_predictions(scores[chosen], [splits[r] for r in chosen], "test")
    truth = data.labels[nodes]
    predictions = means.argmax(1)
    trials = _trial_accuracies(scores.argmax(-1).cpu().numpy(), data, splits, folds, unusable)
    accuracies = []
    for label, name in enumerate(data.class_names):
        is_class = truth == label
        count = int(is_class.sum())
        right = int((is_class & (predictions == label)).sum())
        accuracies.append(
            ClassAccuracy(
                name=name,
                count=count,
                right=right,
                interval=percent_interval(right, count) if count else None,
                replicas=Summary(trials[label]) if trials[label] else None,
            )
        )
    return accuracies


def _trial_accuracies(
    predictions: NDArray[np.int64],
    data: NodeData,
    splits: Sequence[Split],
    folds: int,
    unusable: Container[int],
) -> list[list[float]]:
    """Return for each class the percent correct in every trial that tests it, over all folds."""
    by_class: list[list[float]] = [[] for _ in data.class_names]
    for first in range(0, len(splits), folds):
        trial = [r for r in range(first, first + folds) if r not in unusable]
        if not trial:
            continue
        tested = np.concatenate([splits[r].test for r in trial])
        predicted = np.concatenate([predictions[r, splits[r].test] for r in trial])
        truth = data.labels[tested]
        count = np.bincount(truth, minlength=data.classes)
        right = np.bincount(truth[predicted == truth], minlength=data.classes)
        for label in np.flatnonzero(count).tolist():
            by_class[label].append(100.0 * float(right[label] / count[label]))
    return by_class
