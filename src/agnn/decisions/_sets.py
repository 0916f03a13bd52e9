"""Prediction sets: the classes that fit a node; the true one is among them as often as asked.

A score says how badly a class fits a node, and labelled nodes that chose nothing say how badly the
true class may fit. The p-value of a class is the share of those nodes whose true class fits as
badly or worse. The set holds the classes whose p-value is above 1 - coverage.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from agnn.decisions._conformal import ROUNDING, ReferenceScores
from agnn.decisions._held_out import AskedNodes, Judges, find_judges
from agnn.decisions._likeness import assumption_warnings
from agnn.decisions._shares import Share, check_share
from agnn.errors import InputError, unknown_name
from agnn.tables import NOTHING, Cell, Column, ResultTable, Row

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from agnn.runs import Predictions, Run

Score = Literal["lac", "aps", "daps"]
_MANY_EMPTY: Final = 0.05  # sets, of which a reader should hear
_OWN_SHARE: Final = 0.5  # of a node's own score in DAPS; its neighbours have the rest


@dataclass(frozen=True, eq=False)
class SetRule:
    """Which classes belong to a set; `calibrate_sets` makes it."""

    run: Run
    coverage: float
    score: Score
    by_class: bool
    reference: ReferenceScores

    @property
    def guarantee(self) -> str:
        """What the sets promise and under which assumption, in a sentence."""
        # Several groups of judges: proven is 1 - 2 (1 - coverage), measured is the coverage.
        how_many = "At least" if len(self.reference.judges) == 1 else "About"
        which = "the sets of every class's nodes" if self.by_class else "the sets"
        return (
            f"{how_many} {100.0 * self.coverage:g} % of {which} hold the true class, if the nodes "
            f"asked about are drawn like the {self.reference.count:,} labels that calibrated them."
        )

    def predict(self, asked: AskedNodes) -> PredictionSets:
        """Return the sets of these nodes.

        A labelled node that calibrates is compared with the others, by the replicas that were not
        trained on it.
        """
        warnings = assumption_warnings(self.run, self.reference.judges, asked)
        p_values = self.reference.p_values(asked)
        return PredictionSets(asked.predictions, p_values, self, (*warnings, *self.warnings))

    @property
    def warnings(self) -> list[str]:
        """Sentences on a class whose nodes are clearly covered too rarely, and on empty sets."""
        empty = float((self.sizes == 0).mean())
        warnings = []
        if empty > _MANY_EMPTY:
            warnings.append(
                f"{100.0 * empty:.0f} % of the sets of labelled nodes are empty; a higher coverage "
                f"leaves fewer."
            )
        measured = {name: share for name, share in self.class_coverages.items() if share.of}
        name, worst = min(measured.items(), key=lambda item: item[1].count / item[1].of)
        if worst.interval is not None and worst.interval.high < 100.0 * self.coverage:
            warnings.append(
                f"of the nodes of class '{name}' only {worst.percent:.1f} % have a set with it; "
                f"sets by class (--by-class, by_class=True) cover every class."
            )
        return warnings

    @cached_property
    def class_coverages(self) -> dict[str, Share]:
        """How many of each class's labelled nodes have a set with it, each left out."""
        nodes, p_values = self.reference.left_out
        labels = self.run.data.labels[nodes]
        is_covered = self.is_in_set(p_values)[np.arange(nodes.size), labels]
        classes = self.run.data.classes
        covered = np.bincount(labels[is_covered], minlength=classes).tolist()
        counts = np.bincount(labels, minlength=classes).tolist()
        shares = map(Share, covered, counts)
        return dict(zip(self.run.data.class_names, shares, strict=True))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Sizes of the sets of the calibrating nodes, each left out; [k]."""
        return np.asarray(self.is_in_set(self.reference.left_out[1]).sum(1))

    @property
    def size_sentence(self) -> str:
        """How large the sets of the calibrating nodes are, in a sentence."""
        shares = [100.0 * (self.sizes == size).mean() for size in (1, 0)]
        return (
            f"On the labelled nodes, each left out of its own calibration, a set holds "
            f"{self.sizes.mean():.2f} classes on average; {shares[0]:.0f} % hold one class and can "
            f"be acted on, {shares[1]:.0f} % hold none."
        )

    @property
    def table(self) -> ResultTable:
        """Coverage and number of labels of each class."""
        columns = (
            Column("class", ("class",), is_name=True),
            Column("coverage", ("coverage",), " %", 1, is_number=True),
            Column("95 % interval", ("low", "high"), is_number=True),
            Column("labels", ("labels",), is_number=True),
        )
        rows = []
        for name, share in self.class_coverages.items():
            interval = share.interval or ()
            text = " to ".join(f"{end:.1f}" for end in interval) or NOTHING
            rows.append(Row((name, share.percent, Cell(text, interval), share.of)))
        return ResultTable(columns, tuple(rows), "Sets that hold the true class, by class")

    def is_in_set(self, p_values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes with these p-values are in a set."""
        return p_values > 1.0 - self.coverage + ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Return what the sets promise and what they reach on labels, as JSON values."""
        return {
            "coverage": self.coverage,
            "score": self.score,
            "by_class": self.by_class,
            "guarantee": self.guarantee,
            "calibration_nodes": self.reference.count,
            "mean_size": float(self.sizes.mean()),
            "single": float((self.sizes == 1).mean()),
            "empty": float((self.sizes == 0).mean()),
            "classes": [
                {
                    "class": name,
                    "nodes": share.of,
                    "covered": share.count,
                    "coverage": share.percent,
                    "interval": None if share.interval is None else list(share.interval),
                }
                for name, share in self.class_coverages.items()
            ],
        }


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """The sets of some nodes, with their predictions and what the sets promise."""

    predictions: Predictions
    p_values: NDArray[np.float64]  # [k, c]
    rule: SetRule
    warnings: tuple[str, ...]
    """Where the assumption behind the coverage may not hold."""

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def is_member(self) -> NDArray[np.bool_]:
        """[k, c] Which classes are in the set of each node."""
        return self.rule.is_in_set(self.p_values)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """[k] Number of classes in each set."""
        return np.asarray(self.is_member.sum(1))

    @property
    def sets(self) -> list[list[str]]:
        """The names of the classes in each set, the most probable first."""
        order = np.argsort(-self.predictions.probabilities, axis=1, kind="stable")
        names = self.predictions.class_names
        return [
            [names[label] for label in row if is_member[label]]
            for row, is_member in zip(order.tolist(), self.is_member.tolist(), strict=True)
        ]

    def apply(self, predictions: Predictions) -> Predictions:
        """Return predictions of the same nodes with the columns `set` and `set_size`."""
        return predictions.with_columns(set=self.sets, set_size=self.sizes.tolist())

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns by name: those of `Predictions`, `set` and `set_size`."""
        return self.apply(self.predictions).to_dict()

    def save(self, path: Path | str) -> None:
        """Write the columns to a new CSV or Parquet file."""
        self.apply(self.predictions).save(path)

    def _repr_html_(self) -> str:
        return self.apply(self.predictions)._repr_html_()

    def __repr__(self) -> str:
        size = f", mean size {self.sizes.mean():.2f}" if len(self) else ""
        return f"PredictionSets({len(self)} nodes, coverage {self.rule.coverage:g}{size})"


def calibrate_sets(
    run: Run,
    coverage: float = 0.9,
    *,
    score: Score = "lac",
    by_class: bool = False,
    calibrate_on: str | Sequence[Hashable] | None = None,
) -> SetRule:
    """Return the rule of sets that hold the true class with this coverage.

    Args:
        run: a trained run. Its labels that neither trained nor chose a replica calibrate: all of
            them with cross-fitting.
        coverage: the share of sets that shall hold the true class, between 0 and 1.
        score: "lac" (1 - p) gives the smallest sets; "daps" also asks the neighbours, for a more
            even coverage over regions of the graph; "aps" is the latter without neighbours.
        by_class: the coverage holds for the nodes of every class, not only for all nodes.
        calibrate_on: "test", or ids of test nodes, where the split has three parts: its
            validation nodes chose the epoch.
    """
    check_share("coverage", coverage, example=0.9)
    if score not in get_args(Score):
        raise unknown_name("score", score, get_args(Score))
    judges = find_judges(run, calibrate_on)
    scores = partial(class_scores, score=score)
    reference = ReferenceScores(run, judges, scores, run.data.labels, is_by_column=by_class)
    _check_enough(reference, coverage, run.data.class_names)
    return SetRule(run, float(coverage), score, by_class, reference)


def class_scores(judge: Judges, asked: AskedNodes, score: Score) -> NDArray[np.float64]:
    """Return how badly each class fits each node of the graph, from 0 to 1; [n, c]."""
    probabilities = judge.probabilities(asked.scores)
    if score == "lac":
        return np.asarray(1.0 - probabilities)
    scores = cumulative_scores(probabilities)
    if score == "aps":
        return scores
    return _OWN_SHARE * scores + (1.0 - _OWN_SHARE) * asked.neighbour_mean(scores)


def cumulative_scores(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of all classes before this one and half of its own; [n, c].

    APS (Romano et al. 2020) draws the share of the class itself at random. A half is as valid, has
    smaller sets here, and gives a node the same set every time.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    scores = np.empty_like(probabilities)
    np.put_along_axis(scores, order, ranked.cumsum(1) - 0.5 * ranked, axis=1)
    return scores


def _check_enough(reference: ReferenceScores, coverage: float, names: Sequence[str]) -> None:
    """Raise if so few labels calibrate that every set would hold every class."""
    needed = int(np.ceil(coverage / (1.0 - coverage) - ROUNDING))
    counts = reference.counts(len(names))
    label = int(counts.argmin())
    if counts[label] >= needed:
        return
    if not reference.is_by_column:
        raise InputError(
            f"coverage {coverage:g} needs at least {needed} labels to calibrate; there are "
            f"{counts[label]}. Label more nodes or ask for a lower coverage."
        )
    raise InputError(
        f"coverage {coverage:g} within every class needs at least {needed} labels of each; "
        f"'{names[label]}' has {counts[label]}. Label more nodes, ask for a lower coverage, or for "
        f"the coverage of all classes together."
    )
