"""Callbacks: functions that are called while a training runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor


class BestSoFar(NamedTuple):
    """The epochs that the replicas would keep if the training ended now."""

    score: float  # at the watched nodes, the mean over the replicas
    epoch: int  # the latest of these epochs
    ends: int  # the epoch at which all have stopped, unless one of them improves


@dataclass(frozen=True, eq=False)
class EpochReport:
    """One epoch of all replicas; reading the tensors waits for the device that trains."""

    epoch: int  # counted from 1
    epochs: int  # at most
    training_loss: Tensor  # [R] before the step
    watched_loss: Tensor | None  # [R] after it, at the watched nodes; None where none are watched
    watched_score: Tensor | None  # [R] accuracy, or the rule's other metric
    metric: str = "accuracy"  # that the score is of, a share of 1; of a log loss the negative
    curve: Tensor | None = None  # [epochs + 1, R] the scores so far; row e is for epoch e
    kept_epochs: Tensor | None = None  # [R] chosen so far; 0 where none is
    patience_left: Tensor | None = None  # [R] epochs without progress; None: it never stops early

    def tell(self, callbacks: Sequence[Callback]) -> bool:
        """Tell every callback whose turn it is; return whether one of them ends the training."""
        answers = [
            callback.epoch(self) for callback in callbacks if self.epoch % callback.every == 0
        ]
        return any(answers)

    def means(self) -> dict[str, float]:
        """The mean over the replicas of everything that was measured, by name."""
        parts = {
            "training_loss": self.training_loss,
            "validation_loss": self.watched_loss,
            "validation_score": self.watched_score,
        }
        return {name: float(curve.mean()) for name, curve in parts.items() if curve is not None}

    def best(self) -> BestSoFar | None:
        """Return the best score so far and when the training will stop; None before there is one.

        Of the replicas that are still in the batch: the others have stopped.
        """
        if self.curve is None or self.kept_epochs is None:
            return None
        epochs = self.kept_epochs[self.kept_epochs > 0]
        if not epochs.numel():
            return None
        scores = self.curve[epochs, (self.kept_epochs > 0).nonzero().squeeze(1)]
        ends = self.epochs
        if self.patience_left is not None:
            ends = min(ends, self.epoch + int(self.patience_left.max()))
        return BestSoFar(float(scores.mean()), int(epochs.max()), ends)


class Callback:
    """What is called while a method trains; a subclass overrides what it needs.

    `start` and `finish` are called once per training, for every method; `epoch` after every
    `every` epochs of those that have epochs.

    >>> import agnn
    >>> class Losses(Callback):
    ...     def __init__(self):
    ...         self.seen = []
    ...
    ...     def epoch(self, report):
    ...         self.seen.append(report.means()["training_loss"])
    ...         return report.epoch == 2  # True ends the training
    >>> losses = Losses()
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("gcn", cora, replicas=2, callbacks=[losses])
    >>> len(losses.seen)
    2
    """

    every: int = 1

    def start(self, about: Mapping[str, Any]) -> None:
        """Called before the training with the method, its hyper-parameters and the data's name."""

    def tried(self, tried: Any, left: float | None) -> None:
        """Called with a candidate of an automatic choice and the seconds left, if limited.

        Only of what is given as `progress`.
        """

    def epoch(self, report: EpochReport) -> bool | None:
        """Called after an epoch; True ends the training of all replicas."""

    def finish(self, run: Any) -> None:
        """Called with the finished `Run`; not called if the training fails."""
