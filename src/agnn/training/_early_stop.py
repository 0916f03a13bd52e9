"""Early stopping for any rule that chooses an epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.training._selection import Selection, Tracker

StopOn = Literal["loss", "score"]


@dataclass(frozen=True)
class EarlyStop(Selection):
    """Another rule that ends early: a replica without progress for `patience` epochs has stopped.

    Progress is a lower loss or a higher score at the watched nodes than ever before. Which of the
    epochs until then is kept is the choice of `rule`.
    """

    rule: Selection
    patience: int
    progress: StopOn = "loss"

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise InputError(f"`stop_after` must be at least 1; got {self.patience}.")
        for name in ("on", "metric", "adds_penalty"):
            object.__setattr__(self, name, getattr(self.rule, name))

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return _EarlyStop(self, replicas, device)

    def every(self, epochs: int) -> Self:
        """Return the rule where only one in so many epochs is evaluated."""
        return replace(super().every(epochs), rule=self.rule.every(epochs))


class _EarlyStop(Tracker):
    def __init__(self, rule: EarlyStop, replicas: int, device: torch.device) -> None:
        self.own = rule.rule.tracker(replicas, device)
        self.patience = rule.patience
        self.by_loss = rule.progress == "loss"
        self.idle = torch.zeros(replicas, dtype=torch.int64, device=device)
        self.best = torch.full((replicas,), -torch.inf, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        is_running = self.idle < self.patience
        value = (-loss if self.by_loss else accuracy).to(self.best.dtype)
        has_improved = value > self.best
        self.idle += 1
        self.idle.masked_fill_(is_running & has_improved, 0)
        torch.maximum(self.best, value, out=self.best)
        return self.own.update(epoch, accuracy, loss) & is_running

    def patience_left(self) -> Tensor:
        left = (self.patience - self.idle).clamp(min=0)
        of_rule = self.own.patience_left()
        return left if of_rule is None else torch.minimum(left, of_rule)

    def is_finished(self) -> bool:
        return self.own.is_finished() or bool((self.idle >= self.patience).all())

    def tensors(self) -> dict[str, Tensor]:
        rule_tensors = {f"rule.{name}": tensor for name, tensor in self.own.tensors().items()}
        return super().tensors() | rule_tensors
