"""Measures of predictions: accuracy and its relatives, calibration, intervals, summaries.

Every measure takes the true labels [k] and either predicted classes [k] or probabilities [k, c]
of the same nodes. Shares (accuracy, balanced accuracy, macro F1, AUC) are in percent.

>>> import numpy as np
>>> from agnn import metrics
>>> labels = np.array([0, 0, 0, 1])
>>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
>>> metrics.accuracy(labels, probabilities.argmax(1))
75.0
>>> round(metrics.balanced_accuracy(labels, probabilities.argmax(1)), 1)
83.3
>>> metrics.auc(labels, probabilities)
100.0

Repeated measurements are summarised by their mean and its standard error:

>>> found = metrics.Summary([81.0, 83.0, 82.0])
>>> found.mean, round(found.standard_error, 3)
(82.0, 0.577)

The replicas of a run form an `Ensemble`: the mean of their probabilities, sharpened or softened by
one temperature that is fitted to validation nodes (`fitted_temperature`, `calibrated`).
"""

from agnn.metrics._accuracy import ClassAccuracy, class_accuracies, replica_values
from agnn.metrics._calibration import (
    Calibration,
    Reliability,
    calibrated,
    fitted_temperature,
    reliability,
)
from agnn.metrics._difference import (
    MeasureDifference,
    PairedDifference,
    measure_difference,
    node_contributions,
    paired_difference,
)
from agnn.metrics._ensemble import (
    SURE,
    UNSURE,
    Ensemble,
    ensemble_of,
    held_out,
    leads,
    tempered,
)
from agnn.metrics._measures import (
    MEASURES,
    METRICS,
    Measure,
    accuracy,
    auc,
    balanced_accuracy,
    calibration_error,
    check_metric,
    log_loss,
    macro_f1,
)
from agnn.metrics._summary import Interval, Summary, percent_interval, wilson_interval

__all__ = [
    "MEASURES",
    "METRICS",
    "SURE",
    "UNSURE",
    "Calibration",
    "ClassAccuracy",
    "Ensemble",
    "Interval",
    "Measure",
    "MeasureDifference",
    "PairedDifference",
    "Reliability",
    "Summary",
    "accuracy",
    "auc",
    "balanced_accuracy",
    "calibrated",
    "calibration_error",
    "check_metric",
    "class_accuracies",
    "ensemble_of",
    "fitted_temperature",
    "held_out",
    "leads",
    "log_loss",
    "macro_f1",
    "measure_difference",
    "node_contributions",
    "paired_difference",
    "percent_interval",
    "reliability",
    "replica_values",
    "tempered",
    "wilson_interval",
]
