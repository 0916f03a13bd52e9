"""Measures of predictions against the true labels; repeated measurements and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.errors import InputError, unknown_name
from agnn.metrics._ensemble import held_out_predictions, reliability

if TYPE_CHECKING:
    from torch import Tensor

_CHANCE: Final = 50.0  # percent: the AUC of a guess

Labels = NDArray[np.int64]
Function = Callable[[Labels, NDArray[Any]], float]  # (labels [k], probabilities [k, c])


@dataclass(frozen=True)
class Measure:
    """A measure of probabilities [k, c] against labels [k]; calling it gives the value."""

    title: str
    function: Function
    is_loss: bool = False  # whether a lower value is better
    unit: str = " %"  # after the number; empty for measures that are not shares
    digits: int = 2

    def __call__(self, labels: Labels, probabilities: NDArray[Any]) -> float:
        """Return the value for these labels and probabilities."""
        return self.function(labels, probabilities)

    def score(self, labels: Labels, probabilities: NDArray[Any]) -> float:
        """Return the value as a score to choose by."""
        return self.as_score(self.function(labels, probabilities))

    def as_score(self, value: float) -> float:
        """Return a value with its sign such that higher is better.

        An AUC that is not defined counts as chance, so that something can still be chosen.
        """
        if self.is_loss:
            return -value
        return _CHANCE if np.isnan(value) else value

    def shown(self, value: float) -> str:
        """Return the value as text, without the unit; a dash for one that is not defined."""
        return "\N{EN DASH}" if np.isnan(value) else f"{value:.{self.digits}f}"


def accuracy(labels: Labels, predictions: NDArray[np.int64]) -> float:
    """Return the percent of the nodes whose predicted class is the true one."""
    _check(labels, predictions)
    return 100.0 * float(np.count_nonzero(predictions == labels)) / labels.size


def balanced_accuracy(labels: Labels, predictions: NDArray[np.int64]) -> float:
    """Return the mean over the classes of the percent of their nodes predicted correctly.

    Classes without a node in `labels` are left out.
    """
    _check(labels, predictions)
    right = predictions == labels
    return 100.0 * float(np.mean([right[labels == label].mean() for label in np.unique(labels)]))


def macro_f1(labels: Labels, predictions: NDArray[np.int64]) -> float:
    """Return the mean over the classes of the harmonic mean of precision and recall, in percent.

    Over the classes that occur in the labels or in the predictions.
    """
    _check(labels, predictions)
    classes = 1 + int(max(labels.max(), predictions.max()))
    right = np.bincount(labels[predictions == labels], minlength=classes)
    occurs = np.bincount(labels, minlength=classes) + np.bincount(predictions, minlength=classes)
    return 100.0 * float(np.mean(2.0 * right[occurs > 0] / occurs[occurs > 0]))


def auc(labels: Labels, probabilities: NDArray[Any]) -> float:
    """Return the area under the ROC curve in percent; 50 is chance.

    With more than two classes the mean of one class against the rest, over the classes that have
    both kinds of nodes. NaN if no class has, as when all labels are equal.
    """
    from sklearn.metrics import roc_auc_score

    _check(labels, probabilities)
    classes = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    areas = [
        roc_auc_score(labels == label, probabilities[:, label])
        for label in classes
        if 0 < np.count_nonzero(labels == label) < labels.size
    ]
    return 100.0 * float(np.mean(areas)) if areas else float("nan")


def log_loss(labels: Labels, probabilities: NDArray[Any]) -> float:
    """Return the mean of -log p of the true class, in nats; p is at least 1e-12."""
    _check(labels, probabilities)
    true = probabilities[np.arange(labels.size), labels].astype(np.float64)
    return float(-np.log(np.maximum(true, 1e-12)).mean())


def calibration_error(labels: Labels, probabilities: NDArray[Any]) -> float:
    """Return the expected calibration error, from 0 to 1, over 15 bins of confidence."""
    _check(labels, probabilities)
    return reliability(probabilities, labels).error


def _of_classes(measure: Function) -> Function:
    """Return a measure of predicted classes as a measure of probabilities."""
    return lambda labels, probabilities: measure(labels, probabilities.argmax(1))


MEASURES: Final[Mapping[str, Measure]] = {
    "accuracy": Measure("accuracy", _of_classes(accuracy)),
    "balanced_accuracy": Measure("balanced accuracy", _of_classes(balanced_accuracy)),
    "f1": Measure("macro F1", _of_classes(macro_f1)),
    "auc": Measure("AUC", auc),
    "log_loss": Measure("log loss", log_loss, is_loss=True, unit="", digits=3),
    "calibration_error": Measure(
        "calibration error", calibration_error, is_loss=True, unit="", digits=3
    ),
}
"""Every measure by name."""

METRICS: Final = ("accuracy", "balanced_accuracy", "f1", "auc", "log_loss")
"""The measures by which epochs, settings and methods can be chosen."""


def check_metric(name: str) -> None:
    """Raise, with the nearest name, unless methods can be chosen by the measure of this name."""
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)


def replica_values(
    measure: str,
    scores: Tensor,
    data: NodeData,
    splits: Sequence[Split],
    passes: Sequence[int] = (),
) -> list[float]:
    """Return a measure by name, such as "accuracy" or "auc", on each replica's test nodes; [R].

    See `agnn.metrics.MEASURES` for the names. With `passes` [R], those of cross-fitted replicas,
    there is one value per pass, over the folds of all its replicas together.
    """
    if measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    return [
        MEASURES[measure](data.labels[nodes], probabilities)
        for nodes, probabilities in scored_nodes(scores, splits, passes)
    ]


def scored_nodes(
    scores: Tensor, splits: Sequence[Split], passes: Sequence[int] = ()
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Give the test nodes [k] and their probabilities [k, c] of each replica, or of each pass."""
    groups: dict[int, list[int]] = {}
    for replica in range(len(splits)):
        groups.setdefault(passes[replica] if passes else replica, []).append(replica)
    for replicas in groups.values():
        # Nothing has another name here, so that it is freed where nobody reads it any more.
        yield (
            _join([splits[replica].test for replica in replicas]),
            _join([scores[r].detach().cpu().numpy()[splits[r].test] for r in replicas]),
        )


def _join(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays one after the other; a single one as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _check(labels: Labels, values: NDArray[Any]) -> None:
    if not labels.size or labels.size != values.shape[0]:
        raise InputError(
            f"a measure needs as many predictions as labels, at least one; got {values.shape[0]} "
            f"and {labels.size}."
        )


@dataclass(frozen=True)
class Summary:
    """Number, mean, standard error of the mean and standard deviation of some values."""

    values: tuple[float, ...]

    def __init__(self, values: Sequence[float]) -> None:
        if not values:
            raise InputError("a summary needs at least one value.")
        object.__setattr__(self, "values", tuple(float(value) for value in values))

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean of the values."""
        return math.fsum(self.values) / self.n

    @cached_property
    def deviation(self) -> float | None:
        """Standard deviation with n - 1 in the denominator; None for a single value."""
        if self.n == 1:
            return None
        return math.sqrt(math.fsum((v - self.mean) ** 2 for v in self.values) / (self.n - 1))

    @property
    def standard_error(self) -> float | None:
        """Standard error of the mean, "±" in the paper's tables; None for a single value."""
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "deviation": self.deviation,
            "n": self.n,
            "values": list(self.values),
        }


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float

    @classmethod
    def wilson(cls, right: int, count: int, folds: int = 1) -> Interval:
        """Return Wilson's 95 % interval of a proportion of which `right` of `count` were observed.

        It stays within 0 and 1 and has a width even if all or none are right (Wilson 1927).

        With `folds` the nodes were predicted by that many models, each trained on most of the
        others' nodes, and the interval is wider: it has Student's quantile for `folds` - 1 degrees
        of freedom in place of the normal one. In simulations with 40 to 400 labels it covers 95 to
        97 % of the true accuracies, where the plain interval covers 90 to 94 %
        (docs/notes/cross_fitting.md).
        """
        from scipy.stats import binomtest, norm, t

        if not 0 <= right <= count or count < 1:
            raise InputError(f"`right` must be from 0 to `count` >= 1; got {right} of {count}.")
        level = 0.95 if folds == 1 else 1.0 - 2.0 * float(norm.sf(t.ppf(0.975, folds - 1)))
        interval = binomtest(right, count).proportion_ci(confidence_level=level, method="wilson")
        # The ends are exact if all or none are right; rounding must not move them.
        low = 0.0 if right == 0 else float(interval.low)
        return cls(low, 1.0 if right == count else float(interval.high))

    @classmethod
    def percent(cls, right: int, count: int, folds: int = 1) -> Interval:
        """Return Wilson's 95 % interval in percent; see `wilson` for `folds`."""
        return cls(*(100.0 * end for end in cls.wilson(right, count, folds)))


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

    @classmethod
    def by_class(
        cls,
        scores: Tensor,
        data: NodeData,
        splits: Sequence[Split],
        folds: int = 1,
        *,
        members: Sequence[int] | None = None,
        unusable: Container[int] = (),
    ) -> list[ClassAccuracy]:
        """Return one entry per class for scores [R, n, c]; `folds` replicas in turn are one trial.

        `members` are the replicas that form the ensemble, all by default; the means over replicas
        leave out those that are `unusable`.

        Replicas differ by their initial weights and, if drawn, their split: their mean has a
        standard error. The ensemble is a single classifier; Wilson's interval covers the
        uncertainty due to the number of test nodes. A node is predicted only by the replicas that
        have it for test.
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
                    interval=Interval.percent(right, count) if count else None,
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
    for start in range(0, len(splits), folds):
        trial = [r for r in range(start, start + folds) if r not in unusable]
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
