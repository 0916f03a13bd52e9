"""Accuracy per replica and per class, with both kinds of uncertainty."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.errors import unknown_name
from agnn.metrics._ensemble import held_out
from agnn.metrics._measures import MEASURES
from agnn.metrics._summary import Interval, Summary, percent_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split


def replica_values(
    measure: str, scores: Tensor, data: NodeData, splits: Sequence[Split]
) -> list[float]:
    """A measure by name, such as "accuracy" or "auc", on each replica's test nodes; [R].

    See `agnn.metrics.MEASURES` for the names.
    """
    if measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    found = []
    for own, split in zip(scores.detach().cpu().numpy(), splits, strict=True):
        found.append(MEASURES[measure](data.labels[split.test], own[split.test]))
    return found


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
        """The figures as JSON values."""
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
    """One entry per class for scores [R, n, c]; `folds` consecutive replicas are one trial.

    `members` are the replicas that form the ensemble, all by default; the means over replicas
    leave out those that are `unusable`.

    Replicas differ by their initial weights and, if drawn, their split: their mean has a standard
    error. The ensemble is a single classifier; Wilson's interval covers the uncertainty due to the
    number of test nodes. A node is predicted only by the replicas that have it for test.
    """
    chosen = list(range(len(splits)) if members is None else members)
    nodes, means = held_out(scores[chosen], [splits[r] for r in chosen], "test")
    truth, answers = data.labels[nodes], means.argmax(1)
    own = _by_trial(scores.argmax(-1).cpu().numpy(), data, splits, folds, unusable)
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
    answers: NDArray[np.int64],
    data: NodeData,
    splits: Sequence[Split],
    folds: int,
    unusable: Container[int],
) -> list[list[float]]:
    """For each class, percent correct in every trial that tests it, over all folds of the trial."""
    found: list[list[float]] = [[] for _ in data.class_names]
    for first in range(0, len(splits), folds):
        trial = [r for r in range(first, first + folds) if r not in unusable]
        if not trial:
            continue
        tested = np.concatenate([splits[r].test for r in trial])
        given = np.concatenate([answers[r, splits[r].test] for r in trial])
        truth = data.labels[tested]
        count = np.bincount(truth, minlength=data.classes)
        right = np.bincount(truth[given == truth], minlength=data.classes)
        for label in np.flatnonzero(count).tolist():
            found[label].append(100.0 * float(right[label] / count[label]))
    return found
