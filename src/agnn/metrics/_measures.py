"""Measures of one set of predictions against the true labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError, unknown_name
from agnn.metrics._calibration import reliability

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
        """The value for these labels and probabilities."""
        return self.function(labels, probabilities)

    def score(self, labels: Labels, probabilities: NDArray[Any]) -> float:
        """The value as a score to choose by."""
        return self.as_score(self.function(labels, probabilities))

    def as_score(self, value: float) -> float:
        """A value with its sign such that higher is better.

        An AUC that is not defined counts as chance, so that something can still be chosen.
        """
        if self.is_loss:
            return -value
        return _CHANCE if np.isnan(value) else value

    def shown(self, value: float) -> str:
        """The value as text, without the unit; a dash for one that is not defined."""
        return "\N{EN DASH}" if np.isnan(value) else f"{value:.{self.digits}f}"


def accuracy(labels: Labels, predictions: NDArray[np.int64]) -> float:
    """Percent of the nodes whose predicted class is the true one."""
    _check(labels, predictions)
    return 100.0 * float(np.count_nonzero(predictions == labels)) / labels.size


def balanced_accuracy(labels: Labels, predictions: NDArray[np.int64]) -> float:
    """Mean over the classes of the percent of their nodes that are predicted correctly.

    Classes without a node in `labels` are left out.
    """
    _check(labels, predictions)
    right = predictions == labels
    return 100.0 * float(np.mean([right[labels == each].mean() for each in np.unique(labels)]))


def macro_f1(labels: Labels, predictions: NDArray[np.int64]) -> float:
    """Mean over the classes of the harmonic mean of precision and recall, in percent.

    Over the classes that occur in the labels or in the predictions.
    """
    from sklearn.metrics import f1_score

    _check(labels, predictions)
    return 100.0 * float(f1_score(labels, predictions, average="macro", zero_division=0.0))


def auc(labels: Labels, probabilities: NDArray[Any]) -> float:
    """Area under the ROC curve in percent; 50 is chance.

    With more than two classes the mean of one class against the rest, over the classes that have
    both kinds of nodes. NaN if no class has, as when all labels are equal.
    """
    from sklearn.metrics import roc_auc_score

    _check(labels, probabilities)
    classes = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    areas = [
        roc_auc_score(labels == each, probabilities[:, each])
        for each in classes
        if 0 < np.count_nonzero(labels == each) < labels.size
    ]
    return 100.0 * float(np.mean(areas)) if areas else float("nan")


def log_loss(labels: Labels, probabilities: NDArray[Any]) -> float:
    """Mean of -log p of the true class, in nats; p is at least 1e-12."""
    _check(labels, probabilities)
    true = np.asarray(probabilities, dtype=np.float64)[np.arange(labels.size), labels]
    return float(-np.log(np.maximum(true, 1e-12)).mean())


def calibration_error(labels: Labels, probabilities: NDArray[Any]) -> float:
    """Expected calibration error, from 0 to 1, over 15 bins of confidence."""
    _check(labels, probabilities)
    return reliability(np.asarray(probabilities, dtype=np.float64), labels).error


def _by_class(measure: Function) -> Function:
    """A measure of predicted classes as a measure of probabilities."""
    return lambda labels, probabilities: measure(labels, probabilities.argmax(1))


MEASURES: Final[Mapping[str, Measure]] = {
    "accuracy": Measure("accuracy", _by_class(accuracy)),
    "balanced_accuracy": Measure("balanced accuracy", _by_class(balanced_accuracy)),
    "f1": Measure("macro F1", _by_class(macro_f1)),
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


def _check(labels: Labels, given: NDArray[Any]) -> None:
    if not labels.size or labels.size != given.shape[0]:
        raise InputError(
            f"a measure needs as many predictions as labels, at least one; got {given.shape[0]} "
            f"and {labels.size}."
        )
