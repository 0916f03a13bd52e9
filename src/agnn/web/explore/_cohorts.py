"""Cohorts: nodes that are worth a look, each with a rule that can be stated in a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.decisions import contradicted_labels
from agnn.errors import InputError
from agnn.metrics import SURE, UNSURE, leads
from agnn.runs import Run
from agnn.web.explore._node_map import training_distance

SUSPICIOUS: Final = "suspicious"
_DISAGREE: Final = 0.3
_CELL: Final = re.compile(r"cell-(\d{1,6})-(\d{1,6})")


class Cohort(NamedTuple):
    """Some nodes, the most telling first."""

    key: str
    title: str
    about: str  # the rule
    nodes: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the nodes."""
        return {"key": self.key, "title": self.title, "about": self.about, "count": self.nodes.size}


class Cohorts:
    """The cohorts of one run, or of two on the same data.

    Nodes that the first replica was trained on are in none, because it knows their labels; among
    the suspicious labels are also those that only other replicas were not trained on.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._run = run = runs[0]
        self._labels = run.data.labels
        self._is_open = np.ones(run.data.nodes, dtype=bool)
        self._is_open[run.split.train] = False
        self._is_checked = self._is_open & (self._labels >= 0)
        self._answers = [r.probabilities.argmax(1) for r in runs]
        self._is_tested = self._is_checked
        self._tested_answers = self._answers[0]
        self._has_many_splits = len(set(run.member_splits)) > 1
        if self._has_many_splits:  # most replicas know a label, which only the others test
            nodes, ensemble = run.out_of_fold
            self._is_tested = np.isin(np.arange(run.data.nodes), nodes)
            self._tested_answers = self._answers[0].copy()
            self._tested_answers[nodes] = ensemble.answers
        differences = [] if len(runs) < 2 else self._differences(runs)
        self.all = {c.key: c for c in (*differences, *self._own(), *self._suspicious())}

    def find(self, key: str) -> Cohort:
        """The cohort with this key; cell-T-P is a cell of the confusion matrix."""
        if key in self.all:
            return self.all[key]
        if match := _CELL.fullmatch(key):
            true = int(match[1])
            predicted = int(match[2])
            names = self._run.data.class_names
            if max(true, predicted) < len(names):
                is_in = self._is_tested & (self._labels == true)
                is_in &= self._tested_answers == predicted
                title = f"{names[true]} predicted as {names[predicted]}"
                about = "A cell of the confusion matrix"
                if self._has_many_splits:
                    about += ": predicted by models that were not trained on the label"
                return self._cohort(key, title, f"{about}.", is_in, -self._sure)
        raise InputError(f"there is no cohort '{key[:40]}'; there are {', '.join(self.all)}.")

    def confusion(self) -> list[list[int]]:
        """Labelled nodes outside of training by true class (row) and predicted class; [c, c].

        With several splits, tested nodes by what replicas predict that were not trained on them.
        """
        classes = self._run.data.classes
        tested = self._is_tested
        pairs = self._labels[tested] * classes + self._tested_answers[tested]
        counts: list[list[int]] = (
            np.bincount(pairs, minlength=classes**2).reshape(-1, classes).tolist()
        )
        return counts

    @property
    def _sure(self) -> NDArray[np.float64]:
        highest: NDArray[np.float64] = self._run.probabilities.max(1)
        return highest

    def _own(self) -> list[Cohort]:
        run = self._run
        sure = self._sure
        lead = leads(self._run.probabilities)
        is_wrong = self._is_checked & (self._answers[0] != self._labels)
        caveat = ", although some models were trained on it" if self._has_many_splits else ""
        disagreement = run.ensemble.disagreement
        layers = run.network.hops
        distance = training_distance(run, layers)
        cohorts = [
            self._cohort(
                "wrong",
                "Wrong",
                f"The prediction is not the label{caveat}; the surest first.",
                is_wrong,
                -sure,
            ),
            self._cohort(
                "sure-wrong",
                "Sure and wrong",
                f"Wrong, with the predicted class {100 * SURE:.0f} points or more ahead "
                f"of the second.",
                is_wrong & (lead >= SURE),
                -lead,
            ),
            self._cohort(
                "unsure",
                "Unsure",
                f"The predicted class is less than {100 * UNSURE:.0f} points ahead of the "
                f"second; the least sure first.",
                self._is_open & (lead < UNSURE),
                lead,
            ),
        ]
        if run.replicas > 1:
            about = f"At least {100 * _DISAGREE:.0f} % of the replicas predict another class."
            is_in = self._is_open & (disagreement >= _DISAGREE)
            cohorts.append(
                self._cohort("disagree", "Replicas disagree", about, is_in, -disagreement)
            )
        about = f"No training node within {layers} hops, as many as the model has layers."
        is_in = self._is_open & (distance > layers)
        return [*cohorts, self._cohort("far", "Far from training nodes", about, is_in, sure)]

    def _suspicious(self) -> list[Cohort]:
        """Labels that replicas which were not trained on them contradict, in a list of one."""
        try:
            nodes = contradicted_labels(self._run)
        except InputError:  # no replica tests a label
            return []
        about = (
            "Models that were not trained on the label predict another class; the least probable "
            "label first."
        )
        return [Cohort(SUSPICIOUS, "Suspicious labels", about, nodes)]

    def _differences(self, runs: Sequence[Run]) -> list[Cohort]:
        first = runs[0].probabilities
        second = runs[1].probabilities
        variation = -0.5 * np.abs(first - second).sum(1)
        is_other = self._answers[0] != self._answers[1]
        right = [answers == self._labels for answers in self._answers]
        titles = [run.method.title for run in runs]
        if titles[0] == titles[1]:
            titles = ["the first run", "the second run"]
        return [
            self._cohort(
                "differ",
                "Different predictions",
                "The two runs predict different classes; the clearest first.",
                is_other,
                variation,
            ),
            *(
                self._cohort(
                    f"only-{k}",
                    f"Only {titles[k]} is right",
                    f"{titles[k]} predicts the label, {titles[1 - k]} does not.",
                    is_other & right[k],
                    variation,
                )
                for k in (0, 1)
            ),
            self._cohort(
                "neither",
                "Different and both wrong",
                "The runs predict different classes, and neither is the label.",
                is_other & ~right[0] & ~right[1] & (self._labels >= 0),
                variation,
            ),
        ]

    @staticmethod
    def _cohort(
        key: str, title: str, about: str, is_in: NDArray[np.bool_], order: NDArray[np.float64]
    ) -> Cohort:
        nodes = np.flatnonzero(is_in)
        return Cohort(key, title, about, nodes[np.argsort(order[nodes], kind="stable")])
