"""Cross-fitting: every replica's epoch is chosen by the folds that the other replicas left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

import torch
from torch import Tensor

from agnn.training._selection import Part, Selection, Tracker

LEFT_OUT: Final[Part] = "test"  # the part of a replica's split that holds its own fold


@dataclass(frozen=True)
class CrossFitted(Selection):
    """Another rule, whose score for replica r is the mean over the other replicas' folds.

    Replica r is trained without fold r. Its own score on that fold does not enter the choice of
    its epoch, so the fold still tests it. The others have trained on fold r: one number per
    replica, its epoch, depends on those labels.
    """

    rule: Selection
    passes: tuple[int, ...]
    """[R] Replicas with the same number divide the labels into folds among themselves."""

    on: Part = LEFT_OUT

    def __post_init__(self) -> None:
        for name in ("metric", "adds_penalty", "watches"):
            object.__setattr__(self, name, getattr(self.rule, name))

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        passes = torch.tensor(self.passes[:replicas], device=device)
        return _CrossFitted(self.rule.tracker(replicas, device), passes)

    def every(self, epochs: int) -> Self:
        """Return the rule where only one in so many epochs is evaluated."""
        return replace(self, rule=self.rule.every(epochs))


def mean_of_others(values: Tensor, passes: Tensor) -> Tensor:
    """Return for each replica the mean over the others of its pass that have not diverged; [R].

    What is chosen by it, an epoch or a setting, does not depend on the replica's own fold.
    """
    others = passes[:, None] == passes
    # A product with 0 rather than a difference: not even a last bit depends on the own value.
    others = others.double().fill_diagonal_(0.0)
    known = values.isfinite()
    total = others @ values.double().masked_fill(~known, 0.0)
    return (total / (others @ known.double())).to(values.dtype)


class _CrossFitted(Tracker):
    def __init__(self, rule: Tracker, passes: Tensor) -> None:
        self.rule = rule
        self.passes = passes

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        score = mean_of_others(accuracy, self.passes)
        return self.rule.update(epoch, score, mean_of_others(loss, self.passes))

    def stopped(self) -> Tensor | None:
        """All replicas or none: those that go on need the scores of the others."""
        stopped = self.rule.stopped()
        return None if stopped is None else stopped.all().expand(stopped.shape)

    def patience_left(self) -> Tensor | None:
        return self.rule.patience_left()

    def is_finished(self) -> bool:
        return self.rule.is_finished()

    def keep_only(self, replicas: Tensor) -> None:
        super().keep_only(replicas)
        self.rule.keep_only(replicas)

    def tensors(self) -> dict[str, Tensor]:
        return {f"rule.{name}": tensor for name, tensor in self.rule.tensors().items()}
