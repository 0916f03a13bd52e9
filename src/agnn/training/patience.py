"""Rules that stop when nothing has improved for some epochs, as the authors of later models do.

Three programs, three rules: they agree on counting epochs without progress, and differ in what is
progress and in which epoch is kept.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.training.selection import Part, Selection, Tracker


class _Patient(Tracker):
    """Counts the epochs without progress; a replica that has had enough keeps nothing more."""

    def __init__(self, patience: int, replicas: int, device: torch.device) -> None:
        self.patience = patience
        self.idle = torch.zeros(replicas, dtype=torch.int64, device=device)
        self.best_accuracy = torch.full((replicas,), -1.0, device=device)
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
        """Which replicas made progress, and which would keep these weights; each bool [R]."""

    def remember(self, accuracy: Tensor, loss: Tensor, kept: Tensor) -> None:
        """Take down what a rule needs of a kept epoch; most need nothing."""

    def is_finished(self) -> bool:
        return bool((self.idle >= self.patience).all())


@dataclass(frozen=True)
class LowestLoss(Selection):
    """The epoch of the lowest loss; stop when it has not fallen for `patience` epochs.

    The rule of GCNII's program.
    """

    patience: int = 100
    on: Part = "validation"

    def __post_init__(self) -> None:
        _check(self.patience)

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """A fresh state for a run."""
        return _LowestLoss(self.patience, replicas, device)


class _LowestLoss(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        lower = loss < self.best_loss
        return lower, lower.clone()


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
        """A fresh state for a run."""
        return _BothBest(self.patience, replicas, device)


class _BothBest(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        higher, lower = accuracy >= self.best_accuracy, loss <= self.best_loss
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
        """A fresh state for a run."""
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


def _check(patience: int) -> None:
    if patience < 1:
        raise InputError(f"`patience` must be at least 1; got {patience}.")
