"""Several decisions at once, as the command line and the served API ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agnn.decisions._held_out import find_judges
from agnn.decisions._likeness import assumption_warnings
from agnn.decisions._novelty import NoveltyRule, calibrate_novelty
from agnn.decisions._sets import SetRule, calibrate_sets
from agnn.decisions._thresholds import Threshold, choose_threshold
from agnn.errors import InputError
from agnn.options import DecisionOptions

if TYPE_CHECKING:
    from agnn.decisions._held_out import AskedNodes, Judges
    from agnn.runs import Predictions, Run


@dataclass(frozen=True, kw_only=True)
class Wanted(DecisionOptions):
    """Decisions that are asked for, with options that go together."""

    def __post_init__(self) -> None:
        goals = (self.precision, self.recall, self.costs)
        has_goal = any(goal is not None for goal in goals)
        if has_goal and self.class_name is None:
            raise InputError(
                "a precision, recall or costs go with a class to act on (--class, `act_on`)."
            )
        if self.class_name is not None and not has_goal:
            raise InputError(
                "a class to act on goes with one goal: precision, recall or costs (--precision, "
                "--recall, --costs)."
            )
        if self.coverage is None and (self.by_class or self.score != "lac"):
            raise InputError(
                "the score and by-class are for prediction sets; give their coverage, too "
                "(--coverage 0.9, `coverage`)."
            )
        if self.calibrate_on is not None and self.is_empty:
            raise InputError(
                "labels calibrate sets, a threshold or novelty, and none is asked for; leave out "
                "`calibrate_on` (--calibrate-on)."
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be decided."""
        return self.coverage is None and self.class_name is None and self.false_alarms is None

    @property
    def has_neighbours(self) -> bool:
        """Whether a decision on a node reads its neighbours' scores."""
        return self.false_alarms is not None or self.score == "daps"

    def calibrate(self, run: Run) -> Rules:
        """Return the rules, calibrated on the labels of a run that chose nothing."""
        sets = threshold = novelty = None
        if self.coverage is not None:
            sets = calibrate_sets(
                run,
                self.coverage,
                score=self.score,
                by_class=self.by_class,
                calibrate_on=self.calibrate_on,
            )
        if self.class_name is not None:
            threshold = choose_threshold(
                run,
                self.class_name,
                precision=self.precision,
                recall=self.recall,
                costs=self.costs,
                calibrate_on=self.calibrate_on,
            )
        if self.false_alarms is not None:
            novelty = calibrate_novelty(run, self.false_alarms, calibrate_on=self.calibrate_on)
        return Rules(run, find_judges(run, self.calibrate_on), sets, threshold, novelty)


@dataclass(frozen=True, eq=False)
class Rules:
    """Calibrated rules; None: nothing of that kind is decided."""

    run: Run
    judges: tuple[Judges, ...]
    sets: SetRule | None
    threshold: Threshold | None
    novelty: NoveltyRule | None

    def apply(self, asked: AskedNodes) -> tuple[Predictions, list[str]]:
        """Return the predictions with a column per decision, and warnings about them."""
        predictions = asked.predictions
        warnings = assumption_warnings(self.run, self.judges, asked)
        if self.sets is not None:
            predictions = self.sets.predict(asked).apply(predictions)
            warnings += self.sets.warnings
        if self.threshold is not None:
            predictions = self.threshold.apply(predictions)
            if self.threshold.warning is not None:
                warnings.append(self.threshold.warning)
        if self.novelty is not None:
            predictions = self.novelty.predict(asked).apply(predictions)
        return predictions, warnings

    @property
    def sentences(self) -> list[str]:
        """What each rule promises or reaches."""
        sentences = [] if self.sets is None else [self.sets.guarantee, self.sets.size_sentence]
        if self.novelty is not None:
            sentences.append(self.novelty.guarantee)
        return sentences + ([] if self.threshold is None else [self.threshold.sentence])

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON values, by the name of the decision."""
        rules = {"sets": self.sets, "threshold": self.threshold, "novelty": self.novelty}
        return {name: rule.to_dict() for name, rule in rules.items() if rule is not None}
