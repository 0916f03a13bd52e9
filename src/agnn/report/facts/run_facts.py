"""Everything that a report says about a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agnn.evaluation import Calibration, Summary, calibrated, ensemble_of
from agnn.evaluation.caveat import caveat
from agnn.evaluation.class_accuracy import ClassAccuracy, class_accuracies
from agnn.evaluation.wilson import Interval, wilson_interval
from agnn.report.facts.absent import Absent
from agnn.report.facts.answers import Answers, answers_on_test, answers_without_label
from agnn.report.facts.attention import AttentionFacts, attention_facts
from agnn.report.facts.certainty import Certainty, certainty
from agnn.report.facts.data_facts import DataFacts, data_facts
from agnn.report.facts.surroundings import Surroundings, surroundings
from agnn.report.facts.training import Training, training_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from agnn.data import NodeData
    from agnn.evaluation import SavedRun
    from agnn.explanation import TrainedModel
    from agnn.training import History

_LISTED: Final = 10  # nodes and edges at either end


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A run as its report tells it; a part that it does not have says why."""

    title: str  # the method's
    name: str  # the data's
    class_names: tuple[str, ...]
    config: Mapping[str, Any]  # the run's own account of how it was made
    folds: int  # replicas in a trial
    caveat: str | None
    data: DataFacts
    training: Training | Absent
    accuracy: Summary  # percent of test nodes, one value a replica; with folds, one a trial
    interval: Interval | None  # Wilson's, of the ensemble, in percent
    by_class: tuple[ClassAccuracy, ...]
    test: Answers
    calibration: Calibration
    attention: AttentionFacts | Absent
    certainty: Certainty | Absent
    unlabelled: Certainty | Absent
    surroundings: tuple[Surroundings, ...] | Absent

    @property
    def betas(self) -> tuple[Summary, ...]:
        """Each layer's beta over the replicas; none where the method has none."""
        rows = self.config.get("betas") or []
        return tuple(Summary(column) for column in zip(*rows, strict=True))


def run_facts(
    saved: SavedRun,
    data: NodeData,
    scores: Tensor,
    trained: TrainedModel | None,
    history: History | None,
) -> RunFacts:
    """The facts of a saved run with scores [R, n, c]; `trained` where its method has a network."""
    title, splits = saved.method.title, saved.splits
    accuracy = Summary(saved.config["accuracy"]["values"])
    folds = len(saved.seeds) // accuracy.n
    found = calibrated(scores, data, splits)
    test = answers_on_test(scores, data, splits, found.temperature)
    known = certainty(test, data, _LISTED) if test.nodes.size else Absent(_NO_TEST)
    whole = ensemble_of(scores, found.temperature)
    blank = answers_without_label(whole.probabilities, whole.disagreement, data)
    unlabelled = certainty(blank, data, _LISTED) if blank.nodes.size else Absent(_NO_BLANK)
    without = Absent(f"{title} has no trained network to look into.")
    shown = unlabelled if isinstance(known, Absent) else known
    return RunFacts(
        title=title,
        name=data.name,
        class_names=data.class_names,
        config=saved.config,
        folds=folds,
        caveat=caveat(saved.method),
        data=data_facts(data, splits),
        training=training_facts(history, saved.method, saved.config),
        accuracy=accuracy,
        interval=_interval(test),
        by_class=tuple(class_accuracies(scores, data, splits, folds)),
        test=test,
        calibration=found,
        attention=without if trained is None else attention_facts(trained, title, _LISTED),
        certainty=known,
        unlabelled=unlabelled,
        surroundings=without
        if trained is None or isinstance(shown, Absent)
        else surroundings(trained, splits[0], shown, title),
    )


_NO_TEST: Final = "The run has no test nodes, so no answer can be checked."
_NO_BLANK: Final = "Every node has a label."


def _interval(test: Answers) -> Interval | None:
    if not test.nodes.size:
        return None
    found = wilson_interval(int(test.is_right.sum()), test.nodes.size)
    return Interval(100.0 * found.low, 100.0 * found.high)
