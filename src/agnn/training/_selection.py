"""Rules that choose the epoch whose weights a training run keeps.

A rule is a frozen description. Its tracker holds a few numbers per replica in tensors. After every
epoch it returns the replicas whose current weights become the kept ones, without waiting for the
device. The first rules are those of the paper; the last four stop after some epochs without
progress, as the programs of later models do, and differ in what counts as progress and in which
epoch is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self, cast

import torch
from torch import Tensor

from agnn.errors import InputError

Part = Literal["validation", "test"]
# As in `agnn.metrics`; "best" is the area under the ROC curve with two classes, else the accuracy.
Metric = Literal["accuracy", "best", "balanced_accuracy", "f1", "auc", "log_loss"]
_WORST: Final = -torch.inf  # below every score: that of a log loss is negative


class Tracker(ABC):
    """The running state of a rule for all replicas."""

    @abstractmethod
    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        """Return which replicas keep the weights of `epoch` ([1], counted from 1); bool [R]."""

    def stopped(self) -> Tensor | None:
        """Which replicas keep no later epoch, bool [R]; None for rules that never stop."""
        return None

    def patience_left(self) -> Tensor | None:
        """How many evaluations without progress each replica has left; None: it has no patience."""
        return None

    def is_finished(self) -> bool:
        """Whether no later epoch can be kept; waits for the device, so it is called rarely."""
        stopped = self.stopped()
        return stopped is not None and bool(stopped.all())

    def keep_only(self, replicas: Tensor) -> None:
        """Go on with these replicas, given by their indices, and forget the others."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(self, name, value[..., replicas].clone())

    def tensors(self) -> dict[str, Tensor]:
        """Return by name what it has to remember from one epoch to the next."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}


class Selection(ABC):
    """A rule for choosing the epoch."""

    watches: ClassVar[bool] = True  # whether it reads accuracy and loss at all
    adds_penalty: ClassVar[bool] = False  # whether its loss includes the L2 term
    metric: Metric = "accuracy"  # what the tracker is given as `accuracy`
    on: Part

    @abstractmethod
    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""

    def by(self, metric: Metric, epochs: int) -> BestScore:
        """Return the rule that keeps the epoch with the best `metric`, on the same nodes.

        It has the patience of this rule; without one, all `epochs` are run.
        """
        return BestScore(getattr(self, "patience", epochs), self.on, metric)

    def every(self, epochs: int) -> Self:
        """Return the rule where only one in so many epochs is evaluated.

        Its tracker counts evaluations: the patience is about as many epochs as before, and a window
        is as many evaluations.
        """
        if epochs == 1 or not hasattr(self, "patience"):
            return self
        rule: Self = replace(cast(Any, self), patience=-(-self.patience // epochs))
        return rule


@dataclass(frozen=True)
class HighestAccuracy(Selection):
    """The first epoch whose accuracy, averaged with the epochs before it, is highest.

    `window` epochs are averaged; the paper takes 4 on validation nodes, and in k-fold runs the
    single best epoch on the evaluated fold (`on="test"`), which is optimistic.
    """

    window: int = 4
    on: Part = "validation"

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _HighestAccuracy(self.window, replicas, device)


class _HighestAccuracy(Tracker):
    def __init__(self, window: int, replicas: int, device: torch.device) -> None:
        # In double precision a sum of single-precision numbers is exact in any order.
        self.recent = torch.zeros(window, replicas, dtype=torch.float64, device=device)
        self.best = torch.full((replicas,), -1.0, dtype=torch.float64, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        window = self.recent.shape[0]
        self.recent.index_copy_(0, epoch % window, accuracy[None].double())
        # Until a whole window has passed the mean counts as zero: a run shorter than the window
        # keeps its first epoch.
        mean = self.recent.sum(0) / window * (epoch >= window)
        better = mean > self.best
        torch.where(better, mean, self.best, out=self.best)
        return better


@dataclass(frozen=True)
class WindowStop(Selection):
    """The last epoch before training stops: when the loss exceeds the mean of the last `window`.

    Kipf and Welling's rule as their program has it, with the L2 term inside the loss.
    """

    adds_penalty: ClassVar[bool] = True
    window: int = 10
    on: Part = "validation"

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _WindowStop(self.window, replicas, device)


class _WindowStop(Tracker):
    def __init__(self, window: int, replicas: int, device: torch.device) -> None:
        self.recent = torch.zeros(window, replicas, device=device)
        self.is_running = torch.ones(replicas, dtype=torch.bool, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        kept = self.is_running.clone()
        window = self.recent.shape[0]
        self.is_running &= (loss <= self.recent.mean(0)) | (epoch <= window + 1)
        self.recent.index_copy_(0, epoch % window, loss[None])
        return kept

    def stopped(self) -> Tensor:
        return ~self.is_running


@dataclass(frozen=True)
class LastEpoch(Selection):
    """The last epoch."""

    watches: ClassVar[bool] = False
    on: Part = "validation"

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _LastEpoch(replicas, device)


class _LastEpoch(Tracker):
    def __init__(self, replicas: int, device: torch.device) -> None:
        self.always = torch.ones(replicas, dtype=torch.bool, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        return self.always


class _Patient(Tracker):
    """Counts epochs without progress; a replica out of patience keeps nothing more."""

    def __init__(self, patience: int, replicas: int, device: torch.device) -> None:
        self.patience = patience
        self.idle = torch.zeros(replicas, dtype=torch.int64, device=device)
        self.best_accuracy = torch.full((replicas,), _WORST, device=device)
        self.best_loss = torch.full((replicas,), torch.inf, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        is_running = self.idle < self.patience
        has_improved, kept = self.compare(accuracy, loss)
        kept &= is_running
        self.remember(accuracy, loss, kept)
        self.idle += 1
        self.idle.masked_fill_(is_running & has_improved, 0)
        torch.maximum(self.best_accuracy, accuracy, out=self.best_accuracy)
        torch.minimum(self.best_loss, loss, out=self.best_loss)
        return kept

    @abstractmethod
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        """Return which replicas made progress and which would keep these weights; bool [R] each."""

    def remember(self, accuracy: Tensor, loss: Tensor, kept: Tensor) -> None:
        """Record what a rule needs from a kept epoch; most need nothing."""

    def stopped(self) -> Tensor:
        return self.idle >= self.patience

    def patience_left(self) -> Tensor:
        return (self.patience - self.idle).clamp(min=0)


@dataclass(frozen=True)
class LowestLoss(Selection):
    """The epoch of the lowest loss; stop when it has not fallen for `patience` epochs.

    The rule of GCNII's program. With `or_accuracy` an epoch with the best accuracy so far counts
    as progress, too, and of equal losses the last is kept: the rule of GRAND's program.
    """

    patience: int = 100
    on: Part = "validation"
    or_accuracy: bool = False

    def __post_init__(self) -> None:
        _check(self.patience)

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        kind = _LowestOrBest if self.or_accuracy else _LowestLoss
        return kind(self.patience, replicas, device)


class _LowestLoss(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        lower = loss < self.best_loss
        return lower, lower.clone()


class _LowestOrBest(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        lower = loss <= self.best_loss
        return lower | (accuracy >= self.best_accuracy), lower


@dataclass(frozen=True)
class BothBest(Selection):
    """The last epoch with both the best accuracy and the lowest loss so far.

    Stop when neither has been reached again for `patience` epochs: the rule of GAT's program.
    """

    patience: int = 100
    on: Part = "validation"

    def __post_init__(self) -> None:
        _check(self.patience)

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _BothBest(self.patience, replicas, device)


class _BothBest(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        higher = accuracy >= self.best_accuracy
        lower = loss <= self.best_loss
        return higher | lower, higher & lower


@dataclass(frozen=True)
class BestThenLowest(Selection):
    """The epoch of the best accuracy and, among equals, of the lowest loss.

    Stop when neither has been reached again for `patience` epochs: the rule of APPNP's program,
    whose loss includes the L2 term.
    """

    adds_penalty: ClassVar[bool] = True
    patience: int = 100
    on: Part = "validation"

    def __post_init__(self) -> None:
        _check(self.patience)

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _BestThenLowest(self.patience, replicas, device)


class _BestThenLowest(_Patient):
    def __init__(self, patience: int, replicas: int, device: torch.device) -> None:
        super().__init__(patience, replicas, device)
        self.kept_loss = torch.full((replicas,), torch.inf, device=device)

    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        progress = (accuracy >= self.best_accuracy) | (loss <= self.best_loss)
        equal = accuracy == self.best_accuracy
        return progress, (accuracy > self.best_accuracy) | (equal & (loss < self.kept_loss))

    def remember(self, accuracy: Tensor, loss: Tensor, kept: Tensor) -> None:
        torch.where(kept, loss, self.kept_loss, out=self.kept_loss)


@dataclass(frozen=True)
class BestScore(Selection):
    """The epoch with the best score and, among equals, the lowest loss.

    Stop when neither has improved for `patience` epochs. The score is the metric less `loss_weight`
    times the loss, which changes smoothly where the accuracy of few nodes moves in steps.
    """

    patience: int = 100
    on: Part = "validation"
    metric: Metric = "accuracy"
    loss_weight: float = 0.0

    def __post_init__(self) -> None:
        _check(self.patience)
        if not 0.0 <= self.loss_weight < float("inf"):
            raise InputError(f"`loss_weight` must be at least 0; got {self.loss_weight}.")

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _BestScore(self.patience, self.loss_weight, replicas, device)


class _BestScore(_BestThenLowest):
    def __init__(
        self, patience: int, loss_weight: float, replicas: int, device: torch.device
    ) -> None:
        super().__init__(patience, replicas, device)
        self.loss_weight = loss_weight

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        score = accuracy - self.loss_weight * loss if self.loss_weight > 0 else accuracy
        return super().update(epoch, score, loss)

    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        _, kept = super().compare(accuracy, loss)
        return kept | (loss < self.best_loss), kept


def _check(patience: int) -> None:
    if patience < 1:
        raise InputError(f"`patience` must be at least 1; got {patience}.")
