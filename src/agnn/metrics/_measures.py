"""Measures of one set of predictions against the true labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.metrics._calibration import reliability

Labels = NDArray[np.int64]
Measure = Callable[[Labels, NDArray[Any]], float]  # (labels [k], probabilities [k, c])


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


def _by_class(measure: Callable[[Labels, NDArray[np.int64]], float]) -> Measure:
    """A measure of predicted classes as a measure of probabilities."""
    return lambda labels, probabilities: measure(labels, probabilities.argmax(1))


MEASURES: Final[Mapping[str, Measure]] = {
    "accuracy": _by_class(accuracy),
    "balanced_accuracy": _by_class(balanced_accuracy),
    "macro_f1": _by_class(macro_f1),
    "auc": auc,
    "log_loss": log_loss,
    "calibration_error": calibration_error,
}
"""Every measure by name, as a function of labels [k] and probabilities [k, c]."""


def _check(labels: Labels, given: NDArray[Any]) -> None:
    if not labels.size or labels.size != given.shape[0]:
        raise InputError(
            f"a measure needs as many predictions as labels, at least one; got {given.shape[0]} "
            f"and {labels.size}."
        )
