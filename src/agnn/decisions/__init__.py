"""Decisions on predictions and labels: sets, thresholds, novelty; audits, suggestions, curves.

Sets, thresholds and novelty are calibrated on labels that chose nothing: with cross-fitting
(`split="cross-fit"`) every label, by the replicas that were not trained on it.

>>> import agnn
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("agnn", cora, split="5-fold-cross-fit", changes={"epochs": 5})
>>> sets = run.predict_set(0.9, ["1131150"])
>>> sets.is_member.shape, len(sets.sets)
((1, 7), 1)
>>> sets.rule.guarantee.split(",")[0]
'About 90 % of the sets hold the true class'
"""

from agnn.decisions._audit import (
    Audit as Audit,
    audit as audit,
    contradicted_labels as contradicted_labels,
)
from agnn.decisions._curve import (
    LearningCurve as LearningCurve,
    learning_curve as learning_curve,
)
from agnn.decisions._held_out import (
    AskedNodes as AskedNodes,
)
from agnn.decisions._novelty import (
    Novelty as Novelty,
    calibrate_novelty as calibrate_novelty,
)
from agnn.decisions._rules import Rules as Rules, Wanted as Wanted
from agnn.decisions._sets import (
    PredictionSets as PredictionSets,
    Score as Score,
    SetRule as SetRule,
    calibrate_sets as calibrate_sets,
)
from agnn.decisions._suggest import (
    Suggestions as Suggestions,
    suggest as suggest,
)
from agnn.decisions._thresholds import (
    Threshold as Threshold,
    choose_threshold as choose_threshold,
)
