"""What the report of a run says about acting on its predictions and about its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agnn.decisions import Audit, SetRule, Threshold, audit, calibrate_sets, choose_threshold
from agnn.errors import InputError
from agnn.report._node_facts import Absent
from agnn.runs import Run
from agnn.tables import Column, ResultTable

_COVERAGE: Final = 0.9
_PRECISION: Final = 0.9
_MOST_CLASSES: Final = 25  # with a threshold
_LISTED: Final = 10  # suspicious labels in the JSON


@dataclass(frozen=True, eq=False)
class DecisionFacts:
    """Prediction sets, thresholds and suspicious labels of a run, as far as it can have them."""

    sets: SetRule | Absent
    thresholds: tuple[Threshold, ...]  # of the classes that reach the precision
    audit: Audit | Absent

    @property
    def threshold_table(self) -> ResultTable:
        """From which probability a prediction of each class is right as often as asked."""
        columns = (
            Column("class", of="class_name", is_name=True),
            Column("act from probability", digits=3, is_number=True, of="probability"),
            Column("precision (95 % interval)", of="precision.text"),
            Column("recall (95 % interval)", of="recall.text"),
        )
        caption = f"Thresholds for a precision of {_PRECISION:.0%}"
        return ResultTable.of(columns, self.thresholds, caption)


def decision_facts(run: Run) -> DecisionFacts:
    """Return sets and thresholds at 90 % and what an audit of the labels finds."""
    try:
        sets: SetRule | Absent = calibrate_sets(run, _COVERAGE)
    except InputError as error:
        sets = Absent(str(error))
    thresholds = []
    for name in run.data.class_names[:_MOST_CLASSES] if not isinstance(sets, Absent) else ():
        try:
            thresholds.append(choose_threshold(run, name, precision=_PRECISION))
        except InputError:  # no probability of this class is high enough
            continue
    try:
        labels: Audit | Absent = audit(run, with_features=False).first(_LISTED)
    except InputError as error:
        labels = Absent(str(error))
    return DecisionFacts(sets, tuple(thresholds), labels)
