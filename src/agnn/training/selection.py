"""Which epoch's weights a training run keeps: the rules of the paper.

A rule is a frozen description. Its tracker holds one number or so a replica, in tensors, and says
after every epoch for which replicas the present weights become the kept ones. Nothing in it
waits for the device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

Part = Literal["validation", "test"]


class Tracker(ABC):
    """The running state of a rule for all replicas."""

    @abstractmethod
    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        """Which replicas keep the weights of `epoch`, [1] from 1; bool [R]."""

    def is_finished(self) -> bool:
        """Whether no later epoch can be kept; may wait for the device, so it is asked rarely."""
        return False


class Selection(ABC):
    """A rule for choosing the epoch."""

    watches: ClassVar[bool] = True  # whether it looks at accuracy and loss at all
    adds_penalty: ClassVar[bool] = False  # whether its loss includes the L2 term
    on: Part

    @abstractmethod
    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """A fresh state for a run."""


@dataclass(frozen=True)
class HighestAccuracy(Selection):
    """The first epoch whose accuracy, averaged with the epochs before it, is highest.

    `window` epochs are averaged; the paper takes 4 on validation nodes, and in k-fold runs the
    single best epoch on the evaluated fold (`on="test"`), which is optimistic.
    """

    window: int = 4
    on: Part = "validation"

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """A fresh state for a run."""
        return _HighestAccuracy(self.window, replicas, device)


class _HighestAccuracy(Tracker):
    def __init__(self, window: int, replicas: int, device: torch.device) -> None:
        # In double precision a sum of single ones is exact, in whatever order they stand here.
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
        """A fresh state for a run."""
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

    def is_finished(self) -> bool:
        return not bool(self.is_running.any())


@dataclass(frozen=True)
class LastEpoch(Selection):
    """The weights at the end."""

    watches: ClassVar[bool] = False
    on: Part = "validation"

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """A fresh state for a run."""
        return _LastEpoch(replicas, device)


class _LastEpoch(Tracker):
    def __init__(self, replicas: int, device: torch.device) -> None:
        self.always = torch.ones(replicas, dtype=torch.bool, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        return self.always
