"""Nodes unlike anything seen: how strange a node is among the labelled ones, as a p-value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.decisions._conformal import ROUNDING, ReferenceScores
from agnn.decisions._held_out import AskedNodes, Judges, find_judges
from agnn.decisions._shares import check_share
from agnn.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.runs import Predictions, Run

_HOPS: Final = 2
_OWN_SHARE: Final = 0.5


@dataclass(frozen=True, eq=False)
class NoveltyRule:
    """From which p-value a node counts as unlike those seen; `calibrate_novelty` makes it."""

    run: Run
    false_alarms: float
    reference: ReferenceScores

    @property
    def guarantee(self) -> str:
        """What the flags promise and under which assumption, in a sentence."""
        how_many = "At most" if len(self.reference.judges) == 1 else "About"
        return (
            f"{how_many} {100.0 * self.false_alarms:g} % of the nodes that are like the "
            f"{self.reference.count:,} labelled ones are flagged as novel; how many of the others "
            f"are found is not guaranteed."
        )

    def predict(self, asked: AskedNodes) -> Novelty:
        """Return how strange these nodes are; a labelled one is compared with the others."""
        return Novelty(asked.predictions, self.reference.p_values(asked)[:, 0], self)

    def to_dict(self) -> dict[str, Any]:
        """Return what the flags promise, as JSON values."""
        return {
            "false_alarms": self.false_alarms,
            "guarantee": self.guarantee,
            "calibration_nodes": self.reference.count,
        }


@dataclass(frozen=True, eq=False)
class Novelty:
    """How strange some nodes are, with their predictions."""

    predictions: Predictions
    p_values: NDArray[np.float64]
    """[k] The share of labelled nodes that are as strange or stranger; small is strange."""

    rule: NoveltyRule

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def is_novel(self) -> NDArray[np.bool_]:
        """[k] Whether a node is flagged."""
        return np.asarray(self.p_values <= self.rule.false_alarms + ROUNDING)

    def apply(self, predictions: Predictions) -> Predictions:
        """Return predictions of the same nodes with the columns `novelty_p_value`, `is_novel`."""
        return predictions.with_columns(
            novelty_p_value=self.p_values.tolist(), is_novel=self.is_novel.tolist()
        )

    def _repr_html_(self) -> str:
        return self.apply(self.predictions)._repr_html_()

    def __repr__(self) -> str:
        return (
            f"Novelty({len(self)} nodes, {int(self.is_novel.sum())} flagged at "
            f"{self.rule.false_alarms:g} false alarms)"
        )


def calibrate_novelty(
    run: Run,
    false_alarms: float = 0.05,
    *,
    calibrate_on: str | Sequence[Hashable] | None = None,
) -> NoveltyRule:
    """Return the rule that flags nodes unlike the labelled ones.

    Args:
        run: a trained run, best a cross-fitted one.
        false_alarms: the share of ordinary nodes that may be flagged, between 0 and 1.
        calibrate_on: see `calibrate_sets`.
    """
    check_share("false_alarms", false_alarms, example=0.05, flag="--novelty")
    judges = find_judges(run, calibrate_on)
    first_column = np.zeros(run.data.nodes, dtype=np.int64)
    reference = ReferenceScores(run, judges, novelty_scores, first_column)
    needed = int(np.ceil(1.0 / false_alarms - 1.0 - ROUNDING))
    if reference.count < needed:
        raise InputError(
            f"false alarms of {false_alarms:g} need at least {needed} labels to calibrate; there "
            f"are {reference.count}. Label more nodes or allow more false alarms."
        )
    return NoveltyRule(run, float(false_alarms), reference)


def novelty_scores(judge: Judges, asked: AskedNodes) -> NDArray[np.float64]:
    """Return one minus the highest probability, averaged over two hops; [n, 1].

    A node of an unknown class is among its like: its neighbours are predicted with doubt, too.
    """
    scores = np.asarray(1.0 - judge.probabilities(asked.scores).max(1, keepdims=True))
    for _ in range(_HOPS):
        scores = _OWN_SHARE * scores + (1.0 - _OWN_SHARE) * asked.neighbour_mean(scores)
    return scores
