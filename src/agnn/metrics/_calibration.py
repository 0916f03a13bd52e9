"""Calibration: how well probabilities match frequencies, and the temperature that corrects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.metrics._ensemble import held_out, tempered

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split

BINS: Final = 15
_RANGE: Final = (-6.0, 6.0)  # natural logarithms of the temperatures searched
_TINY: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions in bins of equal width by confidence, which is their highest probability."""

    count: NDArray[np.int64]  # [bins]
    confidence: NDArray[np.float64]  # [bins] mean per bin; 0 if it is empty
    accuracy: NDArray[np.float64]  # [bins] share of correct predictions; 0 if it is empty

    @property
    def error(self) -> float:
        """Expected calibration error: |accuracy - confidence|, weighted by the counts."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float((self.count * gaps).sum() / max(self.count.sum(), 1))


@dataclass(frozen=True, eq=False)
class Calibration:
    """The fitted temperature, and the ensemble on test nodes without and with it."""

    temperature: float
    validation_nodes: int
    test_nodes: int
    accuracy: float  # percent of the test nodes that the ensemble predicts correctly
    before: Reliability
    after: Reliability

    @property
    def has_helped(self) -> bool:
        """Whether the calibration error on test nodes is lower with the temperature."""
        return self.validation_nodes > 0 and self.after.error < self.before.error

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {
            "temperature": self.temperature,
            "validation_nodes": self.validation_nodes,
            "test_nodes": self.test_nodes,
            "ensemble_accuracy": self.accuracy,
            "calibration_error_before": self.before.error,
            "calibration_error_after": self.after.error,
        }


def reliability(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], bins: int = BINS
) -> Reliability:
    """Reliability of probabilities [k, c] for labels [k]."""
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    full = np.maximum(count, 1)
    return Reliability(
        count,
        np.bincount(place, confidence, minlength=bins) / full,
        np.bincount(place, right, minlength=bins) / full,
    )


def fitted_temperature(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Temperature with the least log loss of probabilities [k, c] for labels [k].

    A label counts as 1 - e, and e = 1 / (k + 2) is shared by the other classes. Without that, the
    least loss would be at certainty if all k predictions are correct, which k nodes cannot prove
    (Platt 1999). 1 if there are no nodes to fit it to.
    """
    from scipy.optimize import minimize_scalar

    if not labels.size:
        return 1.0

    k, c = probabilities.shape
    doubt = 1.0 / (k + 2)
    target = np.full((k, c), doubt / max(c - 1, 1))
    target[np.arange(k), labels] = 1.0 - doubt

    def loss(log_temperature: float) -> float:
        own = tempered(probabilities, float(np.exp(log_temperature)))
        return float(-(target * np.log(np.maximum(own, _TINY))).sum())

    found = minimize_scalar(loss, bounds=_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def calibrated(scores: Tensor, data: NodeData, splits: Sequence[Split]) -> Calibration:
    """Fit the temperature to the validation nodes and measure its effect on the test nodes.

    The validation nodes have also chosen the epoch, and settings where any were chosen: the model
    is a little better on them than on new nodes, so the temperature tends to leave the ensemble
    slightly over-confident. What is measured on test nodes shows by how much.

    Each node is predicted only by the replicas that have it in that part of their split. If
    replicas have different splits, a node may be a validation node of one and a test node of
    another: its label then enters the temperature and nothing else. In that case a node is also
    predicted by fewer replicas than a new node will be: the accuracy is that of a smaller
    ensemble, and the temperature leaves the whole ensemble slightly under-confident.
    """
    validation, stated = held_out(scores, splits, "validation")
    temperature = fitted_temperature(stated, data.labels[validation])
    test, means = held_out(scores, splits, "test")
    labels = data.labels[test]
    right = means.argmax(1) == labels
    return Calibration(
        temperature,
        int(validation.size),
        int(test.size),
        100.0 * float(right.mean()) if test.size else float("nan"),
        reliability(means, labels),
        reliability(tempered(means, temperature), labels),
    )
