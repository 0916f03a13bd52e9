"""The report of a run: its facts, its figures, and one HTML file.

The file needs no other file and no network.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from agnn.data import DataReport, NodeData, Split, SplitSpec
from agnn.explanation import explained_run
from agnn.files import plain
from agnn.metrics import (
    Calibration,
    ClassAccuracy,
    Summary,
)
from agnn.report._model_facts import (
    AttentionFacts,
    Training,
    attention_facts,
    training_facts,
    watched_metric,
)
from agnn.report._node_facts import (
    Absent,
    Answers,
    Certainty,
    Surroundings,
    answers_without_label,
    certainty,
    surroundings,
)
from agnn.report._rendering import PageFigure, figure_style, inline_drawing, page_template, svg
from agnn.report._sections import SECTIONS, Captioned, making_table
from agnn.runs import ResultSummary, Run

_LISTED: Final = 10  # nodes and edges at either end
_NO_TEST: Final = "The run has no test nodes, so no prediction can be checked."
_NO_BLANK: Final = "Every node has a label."


@dataclass(frozen=True)
class ClassCounts:
    """The nodes of one class, by what they are for in the first replica."""

    name: str
    labelled: int
    train: int
    validation: int
    test: int


@dataclass(frozen=True)
class DataFacts:
    """A dataset, and its split."""

    report: DataReport
    classes: tuple[ClassCounts, ...]
    splits: int  # how many different ones the replicas have

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "report": self.report,
            "classes": self.classes,
            "different_splits": self.splits,
        }


def data_facts(data: NodeData, splits: Sequence[Split]) -> DataFacts:
    """Return the report on `data`, and its classes in the first replica's split."""
    parts = {"labelled": data.labelled, **splits[0].parts}
    counts = {
        part: np.bincount(data.labels[nodes], minlength=data.classes).tolist()
        for part, nodes in parts.items()
    }
    rows = tuple(
        ClassCounts(name, **{part: counts[part][label] for part in parts})
        for label, name in enumerate(data.class_names)
    )
    return DataFacts(data.report, rows, len(set(splits)))


@dataclass(frozen=True, eq=False)
class RunFacts:
    """Everything that the report of a run says; a part that is missing says why."""

    title: str  # the method's
    name: str  # the data's
    class_names: tuple[str, ...]
    config: Mapping[str, Any]  # the run's own account of how it was made
    result: ResultSummary  # how good, compared with what, on what
    caveat: str | None
    warnings: tuple[str, ...]  # replicas that diverged, baselines that are not clearly beaten
    data: DataFacts
    training: Training | Absent
    accuracy: Summary  # percent of test nodes, one value a replica; with folds, one a trial
    measures: Mapping[str, Summary]  # all measures on the test nodes, by name; empty without any
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
        """Return the values for JSON; a part that is missing says why."""
        values: dict[str, Any] = {
            "title": self.title,
            "run": {key: value for key, value in self.config.items() if key != "sha256"},
            "result": self.result,
            "caveat": self.caveat,
            "warnings": self.warnings,
        }
        for section in SECTIONS:
            values |= {} if section.values is None else section.values(self)
        return dict(plain(values))


def run_facts(run: Run) -> RunFacts:
    """Return the facts of a run."""
    data = run.data
    splits = run.splits
    scores = run.scores
    title = run.method.title
    config = run.to_dict()
    test = Answers.of(data, *run.out_of_fold)
    blank = answers_without_label(run.ensemble, data)
    tested = certainty(test, data, _LISTED) if test.nodes.size else Absent(_NO_TEST)
    unlabelled = certainty(blank, data, _LISTED) if blank.nodes.size else Absent(_NO_BLANK)
    no_network = Absent(f"{title} has no trained network to look into.")
    has_network = run.model is not None
    return RunFacts(
        title=title,
        name=data.name,
        class_names=data.class_names,
        config=config,
        result=run.result,
        caveat=run.caveat,
        warnings=tuple(run.warnings),
        data=data_facts(data, splits),
        training=training_facts(run.history, run.method, watched_metric(run)),
        accuracy=run.accuracy,
        measures=run.measures if all(split.test.size for split in splits) else {},
        by_class=tuple(
            ClassAccuracy.by_class(
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
        certainty=tested,
        unlabelled=unlabelled,
        surroundings=surroundings(explained_run(run), run.split, tested, unlabelled, title)
        if has_network
        else no_network,
        more={s.key: s.computed(run) for s in SECTIONS if s.computed is not None},
    )


def run_figures(facts: RunFacts) -> dict[str, Captioned]:
    """Return figure and caption by name; a figure that the run has no data for is missing."""
    with figure_style():
        return {
            name: figure
            for section in SECTIONS
            if section.figures is not None
            for name, figure in section.figures(facts)
        }


def render_figures(figures: Mapping[str, Captioned]) -> dict[str, PageFigure]:
    """Return the figures as drawings for a page."""
    with figure_style():
        return {
            name: PageFigure(svg(figure), caption) for name, (figure, caption) in figures.items()
        }


def run_page(
    facts: RunFacts,
    figures: Mapping[str, PageFigure],
    *,
    remark: str = "",
    command: str = "",
    folder: str = "",
) -> str:
    """Return the page as HTML, with the figures of `run_figures`.

    `remark` is a sentence below the result, `command` what made the run, `folder` where the run
    is, as the commands at the end name it; all if known.
    """
    drawings = {
        name: figure._replace(svg=inline_drawing(figure.svg, name, figure.caption))
        for name, figure in figures.items()
    }
    template_values = {
        name: value
        for section in SECTIONS
        if section.words is not None
        for name, value in section.words(facts).items()
    }
    return page_template("run.html").render(
        facts=facts,
        figures=drawings,
        remark=remark,
        folder=shlex.quote(folder) if folder else "",
        making_table=making_table(facts, command),
        sections=SECTIONS,
        **template_values,
    )
