"""What happened epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.methods import NetworkMethod
from agnn.metrics import MEASURES, Summary
from agnn.report._facts.absent import Absent

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.methods import Method
    from agnn.runs import Run
    from agnn.training import History


@dataclass(frozen=True, eq=False)
class Curve:
    """A number that every replica has in every epoch; each [epochs]."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def to_dict(self) -> dict[str, list[float]]:
        """As JSON holds it."""
        return {"mean": self.mean.tolist(), "low": self.low.tolist(), "high": self.high.tolist()}


@dataclass(frozen=True, eq=False)
class Training:
    """The epochs of all replicas."""

    part: str  # whose score was watched: "validation" or "test"
    loss: Curve
    accuracy: Curve | None  # that score of the watched nodes; None where nothing was watched
    betas: tuple[Curve, ...]  # one a layer; none where the model has no attention
    kept: Summary  # the epochs whose weights were kept
    kept_accuracy: tuple[float, ...]  # [R] at these epochs; empty where nothing was watched
    metric: str = "accuracy"  # the score that was watched, as in `agnn.metrics.MEASURES`

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "epochs": self.loss.mean.size,
            "watched": self.part,
            "watched_metric": self.metric,
            "selected_epochs": self.kept.to_dict(),
            "training_loss": self.loss.to_dict(),
            "watched_accuracy": None if self.accuracy is None else self.accuracy.to_dict(),
            "betas": [curve.to_dict() for curve in self.betas],
        }


def training_facts(
    history: History | None, method: Method, metric: str = "accuracy"
) -> Training | Absent:
    """The curves of a history in which `metric` was watched, or why there are none."""
    if history is None:
        return Absent(_why_none(method))
    watched = history.watched_accuracy.numel() > 0
    kept = history.selected_epochs.tolist()
    # Shares in percent; what was watched of a log loss is the loss with its sign turned.
    values = (-1.0 if MEASURES[metric].is_loss else 100.0) * history.watched_accuracy.double()
    at_kept = [float(values[epoch - 1, r]) for r, epoch in enumerate(kept)] if watched else []
    layers = () if history.betas is None else history.betas.unbind(-1)
    return Training(
        part=method.recipe().selection.on if isinstance(method, NetworkMethod) else "validation",
        metric=metric,
        loss=_curve(history.training_loss),
        accuracy=_curve(values) if watched else None,
        betas=tuple(_curve(layer) for layer in layers),
        kept=Summary(kept),
        kept_accuracy=tuple(at_kept),
    )


def watched_metric(run: Run) -> str:
    """The score that was watched in every epoch of a run."""
    if run.metric is not None:
        return run.metric
    own = "accuracy"
    if isinstance(run.method, NetworkMethod):
        own = run.method.recipe().selection.metric
    return ("auc" if run.data.classes == 2 else "accuracy") if own == "best" else own


def _curve(values: Tensor) -> Curve:
    """The curve of values [epochs, R], over the replicas that were still training."""
    own = np.ma.masked_invalid(values.double().cpu().numpy())
    mean, low, high = (each.filled(np.nan) for each in (own.mean(1), own.min(1), own.max(1)))
    return Curve(mean, low, high)


def _why_none(method: Method) -> str:
    if not isinstance(method, NetworkMethod):
        return f"{method.title} is not trained epoch by epoch: there are no curves to draw."
    return (
        "The run was saved by a version that did not keep its epochs; trained and saved again, it "
        "has curves here."
    )
