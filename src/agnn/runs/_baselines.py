"""Comparison of a run with what needs no network: the most frequent class, the features alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agnn.methods import Method, Ridge, Task
from agnn.metrics import AccuracyDifference, Summary, accuracy_difference, replica_values

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData, Split

_TITLES = {
    "most_frequent_class": "always predicting the most frequent class",
    "features": "the features without the graph (ridge regression)",
}
_ADVICE = {
    "most_frequent_class": "The model has learned little or nothing. Check the features with "
    "`agnn inspect`, and try another method: {others}.",
    "features": "The graph adds little to this model. Try another method: {others}.",
}
_OTHERS = ("separated", "ridge", "boosting")  # that may do better where most networks fail


@dataclass(frozen=True)
class BaselineComparison:
    """How much better than a baseline a run is, on the same test nodes."""

    method: str  # of the run
    baseline: str  # "most_frequent_class" or "features"
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
        others = " or ".join(f"`{name}`" for name in _OTHERS if name != self.method)
        return (
            f"Not clearly better than {self.title}: {self.accuracy:.1f} %, a difference of "
            f"{self.difference.mean:+.1f} points (95 % interval {low:+.1f} to {high:+.1f}). "
            f"{_ADVICE[self.baseline].format(others=others)}"
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
    rivals = {"most_frequent_class": _most_frequent(data, splits)}
    if data.feature_count and not (isinstance(method, Ridge) and method.views == ("X",)):
        task = Task(data, tuple(splits), tuple(range(len(splits))))
        rivals["features"] = Ridge(views=("X",)).run(task).scores
    found = []
    for name, rival in rivals.items():
        accuracy = Summary(replica_values("accuracy", rival, data, splits)).mean
        difference = accuracy_difference(scores, rival, data, splits)
        found.append(BaselineComparison(method.name, name, accuracy, difference))
    return tuple(found)


def _most_frequent(data: NodeData, splits: Sequence[Split]) -> Tensor:
    """All probability at the most frequent class of each split's test nodes; [R, n, c].

    Not of its training nodes: drawn in equal numbers per class, they do not know it.
    """
    classes = [np.bincount(data.labels[split.test]).argmax() for split in splits]
    chosen = torch.eye(data.classes)[torch.tensor(classes)]
    return chosen[:, None].expand(-1, data.nodes, -1)
