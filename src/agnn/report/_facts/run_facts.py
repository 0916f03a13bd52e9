"""Everything that a report says about a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data import SplitSpec
from agnn.explanation import explained_run
from agnn.files import plain
from agnn.metrics import (
    Calibration,
    ClassAccuracy,
    Interval,
    Summary,
    class_accuracies,
    percent_interval,
)
from agnn.report._facts.absent import Absent
from agnn.report._facts.answers import Answers, answers_on_test, answers_without_label
from agnn.report._facts.attention import AttentionFacts, attention_facts
from agnn.report._facts.certainty import Certainty, certainty
from agnn.report._facts.data_facts import DataFacts, data_facts
from agnn.report._facts.surroundings import Surroundings, surroundings
from agnn.report._facts.training import Training, training_facts, watched_metric
from agnn.report._sections import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agnn.runs import Run

_LISTED: Final = 10  # nodes and edges at either end
_NO_TEST: Final = "The run has no test nodes, so no prediction can be checked."
_NO_BLANK: Final = "Every node has a label."


@dataclass(frozen=True, eq=False)
class RunFacts:
    """Everything that the report of a run says; a part that is missing says why."""

    title: str  # the method's
    name: str  # the data's
    class_names: tuple[str, ...]
    config: Mapping[str, Any]  # the run's own account of how it was made
    caveat: str | None
    warnings: tuple[str, ...]  # replicas that diverged, baselines that are not clearly beaten
    data: DataFacts
    training: Training | Absent
    accuracy: Summary  # percent of test nodes, one value a replica; with folds, one a trial
    measures: Mapping[str, Summary]  # all measures on the test nodes, by name; empty without any
    interval: Interval | None  # Wilson's, of the ensemble, in percent; None without test nodes
    by_class: tuple[ClassAccuracy, ...]
    test: Answers
    calibration: Calibration
    attention: AttentionFacts | Absent
    certainty: Certainty | Absent  # of test nodes
    unlabelled: Certainty | Absent
    surroundings: tuple[Surroundings, ...] | Absent
    more: Mapping[str, Any] = field(default_factory=dict)  # what single sections computed, by key

    @property
    def folds(self) -> int:
        """Replicas in a trial."""
        return SplitSpec.parse(self.config["split"]).folds

    @property
    def betas(self) -> tuple[Summary, ...]:
        """Each layer's beta over the replicas; none where the method has none."""
        rows = self.config.get("betas") or []
        return tuple(Summary(column) for column in zip(*rows, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values; a part that is missing says why."""
        values: dict[str, Any] = {
            "title": self.title,
            "run": {key: each for key, each in self.config.items() if key != "sha256"},
            "caveat": self.caveat,
            "warnings": list(self.warnings),
        }
        for section in SECTIONS:
            values |= {} if section.values is None else section.values(self)
        return dict(plain(values))


def run_facts(run: Run) -> RunFacts:
    """The facts of a run."""
    data, splits, scores, title = run.data, run.splits, run.scores, run.method.title
    config = run.to_dict()
    members = [splits[replica] for replica in run.members]
    test = answers_on_test(scores[run.members], data, members, run.temperature)
    blank = answers_without_label(run.ensemble, data)
    known = certainty(test, data, _LISTED) if test.nodes.size else Absent(_NO_TEST)
    unlabelled = certainty(blank, data, _LISTED) if blank.nodes.size else Absent(_NO_BLANK)
    no_network = Absent(f"{title} has no trained network to look into.")
    has_network = run.model is not None
    return RunFacts(
        title=title,
        name=data.name,
        class_names=data.class_names,
        config=config,
        caveat=run.caveat,
        warnings=tuple(run.warnings),
        data=data_facts(data, splits),
        training=training_facts(run.history, run.method, watched_metric(run)),
        accuracy=run.accuracy,
        measures=run.measures if all(split.test.size for split in splits) else {},
        interval=_interval(test),
        by_class=tuple(
            class_accuracies(
                scores,
                data,
                splits,
                run.folds,
                members=run.members.tolist(),
                unusable=np.flatnonzero(run.unusable).tolist(),
            )
        ),
        test=test,
        calibration=run.calibration,
        attention=attention_facts(explained_run(run), title, _LISTED)
        if has_network
        else no_network,
        certainty=known,
        unlabelled=unlabelled,
        surroundings=surroundings(explained_run(run), run.split, known, unlabelled, title)
        if has_network
        else no_network,
        more={each.key: each.computed(run) for each in SECTIONS if each.computed is not None},
    )


def _interval(test: Answers) -> Interval | None:
    count = test.nodes.size
    return percent_interval(int(test.is_right.sum()), count) if count else None
