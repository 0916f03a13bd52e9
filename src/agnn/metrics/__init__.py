"""Measures of predictions: accuracy and its relatives, calibration, intervals, summaries.

Every measure takes the true labels [k] and the probabilities [k, c] of the same nodes. Shares
(accuracy, balanced accuracy, macro F1, AUC) are in percent.

>>> import numpy as np
>>> from agnn.metrics import MEASURES, Summary
>>> labels = np.array([0, 0, 0, 1])
>>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
>>> MEASURES["accuracy"](labels, probabilities)
75.0
>>> round(MEASURES["balanced_accuracy"](labels, probabilities), 1)
83.3
>>> MEASURES["auc"](labels, probabilities)
100.0

Repeated measurements are summarised by their mean and its standard error:

>>> summary = Summary([81.0, 83.0, 82.0])
>>> summary.mean, round(summary.standard_error, 3)
(82.0, 0.577)

The replicas of a run form an `Ensemble`: the mean of their probabilities, sharpened or softened by
one temperature that is fitted to validation nodes (`Calibration.of`). Two classifiers are compared
on the same test nodes: `NodeDifference` for one set of replicas, `TrialDifference` over trials.
"""

from agnn.metrics._difference import (
    NodeDifference as NodeDifference,
    TrialDifference as TrialDifference,
    node_contributions as node_contributions,
)
from agnn.metrics._ensemble import (
    SURE as SURE,
    UNSURE as UNSURE,
    Calibration as Calibration,
    Ensemble as Ensemble,
    Reliability as Reliability,
    apply_temperature as apply_temperature,
    held_out_predictions as held_out_predictions,
    helpful_temperature as helpful_temperature,
    leads as leads,
)
from agnn.metrics._measures import (
    MEASURES as MEASURES,
    ClassAccuracy as ClassAccuracy,
    Interval as Interval,
    Measure as Measure,
    Summary as Summary,
    check_metric as check_metric,
    replica_values as replica_values,
    scored_nodes as scored_nodes,
)
