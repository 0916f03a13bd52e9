"""A result in one look: how good, compared with what, on what, and what next.

The terminal, the report, the model card, JSON and notebooks render the same `ResultSummary`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.files import plain
from agnn.metrics import Interval, Summary
from agnn.tables import mean_text, shown_text

if TYPE_CHECKING:
    from agnn.runs._run import Run

_BASELINES: Final = {
    "most_frequent_class": "most frequent class",
    "features": "features alone",
    "graph": "edges alone",
}
_GAP: Final = 5.0  # points of balanced accuracy that another threshold should gain, to mention it
_KEEP: Final = "keep the model with --out FOLDER (`agnn train`) or run.save(FOLDER)"


@dataclass(frozen=True)
class ResultSummary:
    """How good a run is, compared with what, on what, and what to do next."""

    title: str  # method and data
    accuracy: float | None  # percent of the test nodes that the ensemble predicts; None without any
    interval: Interval | None  # of the accuracy, for this many test nodes
    test_nodes: int
    tested_by: str  # which models predict them
    spread: str | None  # of the replicas: mean and standard error
    baselines: dict[str, float]  # their accuracies in percent
    worse_than: dict[str, str]  # the baselines that are clearly better, with their score
    better: str | None  # the command or option that trains the best of these
    least_found: tuple[str, float, int] | None  # class, percent of it found, its test nodes
    ranking: str | None  # where nodes are ranked better than they are decided
    threshold: str | None  # the command that chooses another threshold for them
    next: str

    @property
    def headline(self) -> str:
        """The first line: a result that is worse than a baseline is called so."""
        if self.accuracy is None or self.interval is None:
            return "No node was tested, so the accuracy is unknown."
        low, high = self.interval
        right = f"{self.accuracy:.1f} % of the nodes right ({low:.1f} to {high:.1f})"
        baselines = ", ".join(f"{name} {value:.1f}" for name, value in self.baselines.items())
        compared = f"{right}; {baselines}" if baselines else right
        if not self.worse_than:
            return compared
        worse = " and ".join(f"{name} ({score})" for name, score in self.worse_than.items())
        return f"WORSE than {worse}: {compared}"

    @property
    def lines(self) -> list[str]:
        """The result in a few lines of text, with what to do next."""
        return self.findings if self.better else [*self.findings, f"next: {self.next}"]

    @property
    def findings(self) -> list[str]:
        """The lines that say how good the result is."""
        lines = [self.headline]
        if self.better is not None:
            lines.append(f"better: {self.better}")
        if self.test_nodes:
            lines.append(f"tested on {self.test_nodes:,} labelled nodes, {self.tested_by}")
        if self.spread is not None:
            lines.append(self.spread)
        if self.least_found is not None:
            name, share, nodes = self.least_found
            lowest = f"found {share:.0f} % of the {nodes:,} nodes of class {name}, the lowest share"
            lines.append("found all of every class" if share == 100.0 else lowest)
        if self.ranking is not None:
            lines += [self.ranking, f"threshold: {self.threshold}"]
        return lines

    def html(self) -> str:
        """Return the lines as a part of a page."""
        headline, *further_lines = (escape(line) for line in self.lines)
        details = "".join(f"<br>{line}" for line in further_lines)
        return f'<p class="result"><strong>{headline}</strong>{details}</p>'

    def to_dict(self) -> dict[str, Any]:
        """Return the figures and the lines as JSON values."""
        return {**plain(vars(self)), "headline": self.headline, "lines": self.lines}

    @classmethod
    def of(
        cls, run: Run, folder: Path | str | None = None, better: str | None = None
    ) -> ResultSummary:
        """Return the result of a run that is in `folder`, if it is in one.

        `better` is the whole command for a run that is worse than a baseline; else the option.
        """
        folder = run.folder if folder is None else folder
        is_tested = run.calibration.test_nodes > 0
        worse = [baseline for baseline in run.baselines if baseline.difference.is_worse]
        options = [
            baseline.better_method for baseline in worse if baseline.better_method is not None
        ]
        least = _worst_class(run) if is_tested else None
        ranking = None if least is None else _ranking(run)
        if better is None and options:
            better = f"--method {options[0]}"
        return cls(
            title=f"{run.method.title} on {shown_text(run.data.name)}",
            accuracy=run.calibration.accuracy if is_tested else None,
            interval=run.interval if is_tested else None,
            test_nodes=run.calibration.test_nodes,
            tested_by=_tested_by(run),
            spread=_spread(run),
            baselines={_BASELINES[b.baseline]: b.accuracy for b in run.baselines},
            worse_than={_BASELINES[b.baseline]: b.score for b in worse},
            better=better,
            least_found=least,
            ranking=ranking,
            threshold=None if least is None or ranking is None else _threshold(least[0], folder),
            next=_next(run, folder),
        )


def _tested_by(run: Run) -> str:
    if run.is_cross_fitted:
        return "each by models that were not trained on its label"
    return "whose labels were not used in training"


def _spread(run: Run) -> str | None:
    """Return how far single models differ: another thing than the number of test nodes."""
    accuracy: Summary = run.accuracy
    if accuracy.standard_error is None:
        return None
    unit = "pass" if run.is_cross_fitted else "replica" if run.folds == 1 else "trial"
    return (
        f"one {unit} alone: {mean_text(accuracy, 1, ' %')}, standard error over {accuracy.n} that "
        f"differ in their seed"
    )


def _worst_class(run: Run) -> tuple[str, float, int] | None:
    """Return the class of which the smallest share is predicted as such, on test nodes."""
    nodes, ensemble = run.out_of_fold
    labels = run.data.labels[nodes]
    counts = np.bincount(labels, minlength=run.data.classes)
    right = np.bincount(labels[ensemble.answers == labels], minlength=run.data.classes)
    shares = np.where(counts > 0, 100.0 * right / np.maximum(counts, 1), np.inf)
    least = int(shares.argmin())
    if np.isinf(shares[least]):
        return None
    return run.data.class_names[least], float(shares[least]), int(counts[least])


def _ranking(run: Run) -> str | None:
    """Say that probabilities rank two classes better than the highest one decides.

    Two normal distributions of equal variance with area A under the curve lie d = sqrt(2) Phi^-1(A)
    apart, and the threshold between them has the balanced accuracy Phi(d / 2).
    """
    if run.data.classes != 2:
        return None
    area = run.measures["auc"].mean / 100.0
    balanced = run.measures["balanced_accuracy"].mean
    if not 0.5 < area <= 1.0:
        return None
    normal = NormalDist()
    possible = 100.0 * normal.cdf(normal.inv_cdf(min(area, 1 - 1e-9)) / 2**0.5)
    if possible - balanced < _GAP:
        return None
    weights = ""
    if run.method.takes_class_weights and run.class_weight is None:
        weights = " or --class-weight balanced"
    return (
        f"ranks the nodes better than it decides: AUC {100 * area:.1f} %; balanced accuracy "
        f"{balanced:.1f} %, which another threshold{weights} can raise to about {possible:.0f} %"
    )


def _threshold(name: str, folder: Path | str | None) -> str:
    where = "RUN" if folder is None else shlex.quote(str(folder))
    return f"agnn predict {where} --class {shlex.quote(name)} --recall 0.9 --out chosen.csv"


def _next(run: Run, folder: Path | str | None) -> str:
    if folder is None:
        return _KEEP
    quoted = shlex.quote(str(folder))
    if run.data.labelled.size < run.data.nodes:
        return f"agnn predict {quoted} --unlabelled --out labels.csv"
    return f"agnn explore {quoted}"
