"""Comparison of a run with what needs no network: the most frequent class, the features alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agnn.methods import Majority, Method, Ridge, Task
from agnn.metrics import AccuracyDifference, Summary, accuracy_difference, replica_values

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData, Split

_TITLES = {
    "majority": "always predicting the most frequent class",
    "ridge": "the features without the graph (ridge regression)",
}
_ADVICE = {
    "majority": "The model has learned little or nothing. Try another method, such as "
    "`separated`, `ridge` or `boosting`, and check the features with `agnn inspect`.",
    "ridge": "The graph adds little to this model. If edges join unlike nodes, try the method "
    "`separated`.",
}


@dataclass(frozen=True)
class BaselineComparison:
    """How much better than a baseline a run is, on the same test nodes."""

    baseline: str  # the baseline's method
    accuracy: float  # its mean test accuracy in percent
    difference: AccuracyDifference  # the run's accuracy minus the baseline's

    @property
    def title(self) -> str:
        """What the baseline does, in words."""
        return _TITLES[self.baseline]

    @property
    def warning(self) -> str | None:
        """What to say where the run is not clearly better; None where it is."""
        if self.difference.is_clear:
            return None
        low, high = self.difference.interval
        return (
            f"Not clearly better than {self.title}: {self.accuracy:.1f} %, a difference of "
            f"{self.difference.mean:+.1f} points (95 % interval {low:+.1f} to {high:+.1f}). "
            f"{_ADVICE[self.baseline]}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {
            "baseline": self.baseline,
            "accuracy": self.accuracy,
            "difference": self.difference.to_dict(),
            "warning": self.warning,
        }


def compared_with_baselines(
    method: Method, scores: Tensor, data: NodeData, splits: Sequence[Split]
) -> tuple[BaselineComparison, ...]:
    """The comparison of scores [R, n, c] with every baseline that is not the method itself.

    Without test nodes there is none.
    """
    if not all(split.test.size for split in splits):
        return ()
    baselines: list[Method] = [Majority()]
    if data.feature_count:
        baselines.append(Ridge(views=("X",)))
    task = Task(data, tuple(splits), tuple(range(len(splits))))
    found = []
    for baseline in baselines:
        if baseline.name == method.name:
            continue
        rival = baseline.run(task).scores
        accuracy = Summary(replica_values("accuracy", rival, data, splits)).mean
        difference = accuracy_difference(scores, rival, data, splits)
        found.append(BaselineComparison(baseline.name, accuracy, difference))
    return tuple(found)
