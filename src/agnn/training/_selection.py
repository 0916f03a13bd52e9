"""Rules that choose the epoch whose weights a training run keeps.

A rule is a frozen description. Its tracker holds a few numbers per replica in tensors. After every
epoch it returns the replicas whose current weights become the kept ones, without waiting for the
device. The first rules are those of the paper; the next four stop after some epochs without
progress, as the programs of later models do, and differ in what counts as progress and in which
epoch is kept. The last two are rules around another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self, cast

import torch
from torch import Tensor

from agnn.errors import InputError

Part = Literal["validation", "test"]
StopOn = Literal["loss", "score"]
# As in `agnn.metrics`; "best" is the area under the ROC curve with two classes, else the accuracy.
Metric = Literal["accuracy", "best", "balanced_accuracy", "f1", "auc", "log_loss"]
_WORST: Final = -torch.inf  # below every score: that of a log loss is negative


class Tracker(ABC):
    """The running state of a rule for all replicas."""

    def __init__(self, rule: Any, replicas: int, device: torch.device) -> None:
        self.rule = rule
        self.begin(replicas, device)

    @abstractmethod
    def begin(self, replicas: int, device: torch.device) -> None:
        """Allocate what is remembered of each replica."""

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
    state: ClassVar[type[Tracker]]
    metric: Metric = "accuracy"  # what the tracker is given as `accuracy`
    on: Part

    def __post_init__(self) -> None:
        for name in ("patience", "window"):
            if getattr(self, name, 1) < 1:
                raise InputError(f"`{name}` must be at least 1; got {getattr(self, name)}.")

    def tracker(self, replicas: int, device: torch.device) -> Tracker:
        """Return a new tracker."""
        return self.state(self, replicas, device)

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


class _HighestAccuracy(Tracker):
    def begin(self, replicas: int, device: torch.device) -> None:
        # In double precision a sum of single-precision numbers is exact in any order.
        self.recent = torch.zeros(self.rule.window, replicas, dtype=torch.float64, device=device)
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
class HighestAccuracy(Selection):
    """The first epoch whose accuracy, averaged with the epochs before it, is highest.

    `window` epochs are averaged; the paper takes 4 on validation nodes, and in k-fold runs the
    single best epoch on the evaluated fold (`on="test"`), which is optimistic.
    """

    state: ClassVar[type[Tracker]] = _HighestAccuracy
    window: int = 4
    on: Part = "validation"


class _WindowStop(Tracker):
    def begin(self, replicas: int, device: torch.device) -> None:
        self.recent = torch.zeros(self.rule.window, replicas, device=device)
        self.is_running = torch.ones(replicas, dtype=torch.bool, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        is_kept = self.is_running.clone()
        window = self.recent.shape[0]
        self.is_running &= (loss <= self.recent.mean(0)) | (epoch <= window + 1)
        self.recent.index_copy_(0, epoch % window, loss[None])
        return is_kept

    def stopped(self) -> Tensor:
        return ~self.is_running


@dataclass(frozen=True)
class WindowStop(Selection):
    """The last epoch before training stops: when the loss exceeds the mean of the last `window`.

    Kipf and Welling's rule as their program has it, with the L2 term inside the loss.
    """

    adds_penalty: ClassVar[bool] = True
    state: ClassVar[type[Tracker]] = _WindowStop
    window: int = 10
    on: Part = "validation"


class _LastEpoch(Tracker):
    def begin(self, replicas: int, device: torch.device) -> None:
        self.always = torch.ones(replicas, dtype=torch.bool, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        return self.always


@dataclass(frozen=True)
class LastEpoch(Selection):
    """The last epoch."""

    watches: ClassVar[bool] = False
    state: ClassVar[type[Tracker]] = _LastEpoch
    on: Part = "validation"


class _Patient(Tracker):
    """Counts epochs without progress; a replica out of patience keeps nothing more."""

    def begin(self, replicas: int, device: torch.device) -> None:
        self.patience: int = self.rule.patience
        self.idle = torch.zeros(replicas, dtype=torch.int64, device=device)
        self.best_accuracy = torch.full((replicas,), _WORST, device=device)
        self.best_loss = torch.full((replicas,), torch.inf, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        is_running = self.idle < self.patience
        has_improved, is_kept = self.compare(accuracy, loss)
        is_kept &= is_running
        self.remember(accuracy, loss, is_kept)
        self.idle += 1
        self.idle.masked_fill_(is_running & has_improved, 0)
        torch.maximum(self.best_accuracy, accuracy, out=self.best_accuracy)
        torch.minimum(self.best_loss, loss, out=self.best_loss)
        return is_kept

    @abstractmethod
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        """Return which replicas made progress and which would keep these weights; bool [R] each."""

    def remember(self, accuracy: Tensor, loss: Tensor, is_kept: Tensor) -> None:
        """Record what a rule needs from a kept epoch; most need nothing."""

    def stopped(self) -> Tensor:
        return self.idle >= self.patience

    def patience_left(self) -> Tensor:
        return (self.patience - self.idle).clamp(min=0)


@dataclass(frozen=True)
class _PatientSelection(Selection):
    """A rule that stops after `patience` epochs without progress."""

    patience: int = 100
    on: Part = "validation"


class _LowestLoss(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        if not self.rule.or_accuracy:
            lower = loss < self.best_loss
            return lower, lower.clone()
        lower = loss <= self.best_loss
        return lower | (accuracy >= self.best_accuracy), lower


@dataclass(frozen=True)
class LowestLoss(_PatientSelection):
    """The epoch of the lowest loss; stop when it has not fallen for `patience` epochs.

    The rule of GCNII's program. With `or_accuracy` an epoch with the best accuracy so far counts
    as progress, too, and of equal losses the last is kept: the rule of GRAND's program.
    """

    state: ClassVar[type[Tracker]] = _LowestLoss
    or_accuracy: bool = False


class _BothBest(_Patient):
    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        higher = accuracy >= self.best_accuracy
        lower = loss <= self.best_loss
        return higher | lower, higher & lower


@dataclass(frozen=True)
class BothBest(_PatientSelection):
    """The last epoch with both the best accuracy and the lowest loss so far.

    Stop when neither has been reached again for `patience` epochs: the rule of GAT's program.
    """

    state: ClassVar[type[Tracker]] = _BothBest


class _BestThenLowest(_Patient):
    def begin(self, replicas: int, device: torch.device) -> None:
        super().begin(replicas, device)
        self.kept_loss = torch.full((replicas,), torch.inf, device=device)

    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        progress = (accuracy >= self.best_accuracy) | (loss <= self.best_loss)
        equal = accuracy == self.best_accuracy
        return progress, (accuracy > self.best_accuracy) | (equal & (loss < self.kept_loss))

    def remember(self, accuracy: Tensor, loss: Tensor, is_kept: Tensor) -> None:
        torch.where(is_kept, loss, self.kept_loss, out=self.kept_loss)


@dataclass(frozen=True)
class BestThenLowest(_PatientSelection):
    """The epoch of the best accuracy and, among equals, of the lowest loss.

    Stop when neither has been reached again for `patience` epochs: the rule of APPNP's program,
    whose loss includes the L2 term.
    """

    adds_penalty: ClassVar[bool] = True
    state: ClassVar[type[Tracker]] = _BestThenLowest


class _BestScore(_BestThenLowest):
    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        weight = self.rule.loss_weight
        return super().update(epoch, accuracy - weight * loss if weight > 0 else accuracy, loss)

    def compare(self, accuracy: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        _, is_kept = super().compare(accuracy, loss)
        return is_kept | (loss < self.best_loss), is_kept


@dataclass(frozen=True)
class BestScore(_PatientSelection):
    """The epoch with the best score and, among equals, the lowest loss.

    Stop when neither has improved for `patience` epochs. The score is the metric less `loss_weight`
    times the loss, which changes smoothly where the accuracy of few nodes moves in steps.
    """

    state: ClassVar[type[Tracker]] = _BestScore
    metric: Metric = "accuracy"
    loss_weight: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.loss_weight < float("inf"):
            raise InputError(f"`loss_weight` must be at least 0; got {self.loss_weight}.")


class _Around(Tracker):
    """The state of a rule around another one, whose tracker it has."""

    def begin(self, replicas: int, device: torch.device) -> None:
        self.inner: Tracker = self.rule.rule.tracker(replicas, device)

    def keep_only(self, replicas: Tensor) -> None:
        super().keep_only(replicas)
        self.inner.keep_only(replicas)

    def tensors(self) -> dict[str, Tensor]:
        inner = {f"rule.{name}": tensor for name, tensor in self.inner.tensors().items()}
        return super().tensors() | inner


class _EarlyStop(_Around):
    def begin(self, replicas: int, device: torch.device) -> None:
        super().begin(replicas, device)
        self.patience: int = self.rule.patience
        self.idle = torch.zeros(replicas, dtype=torch.int64, device=device)
        self.best = torch.full((replicas,), _WORST, device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        is_running = self.idle < self.patience
        value = (-loss if self.rule.progress == "loss" else accuracy).to(self.best.dtype)
        has_improved = value > self.best
        self.idle += 1
        self.idle.masked_fill_(is_running & has_improved, 0)
        torch.maximum(self.best, value, out=self.best)
        return self.inner.update(epoch, accuracy, loss) & is_running

    def patience_left(self) -> Tensor:
        patience = (self.patience - self.idle).clamp(min=0)
        of_rule = self.inner.patience_left()
        return patience if of_rule is None else torch.minimum(patience, of_rule)

    def is_finished(self) -> bool:
        return self.inner.is_finished() or bool((self.idle >= self.patience).all())


@dataclass(frozen=True)
class EarlyStop(Selection):
    """Another rule that ends early: a replica without progress for `patience` epochs has stopped.

    Progress is a lower loss or a higher score at the watched nodes than ever before. Which of the
    epochs until then is kept is the choice of `rule`.
    """

    state: ClassVar[type[Tracker]] = _EarlyStop
    rule: Selection
    patience: int
    progress: StopOn = "loss"

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise InputError(f"`stop_after` must be at least 1; got {self.patience}.")
        for name in ("on", "metric", "adds_penalty"):
            object.__setattr__(self, name, getattr(self.rule, name))

    def every(self, epochs: int) -> Self:
        """Return the rule where only one in so many epochs is evaluated."""
        return replace(super().every(epochs), rule=self.rule.every(epochs))


class _CrossFitted(_Around):
    def begin(self, replicas: int, device: torch.device) -> None:
        super().begin(replicas, device)
        self.passes = torch.tensor(self.rule.passes[:replicas], device=device)

    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> Tensor:
        score = CrossFitted.mean_of_others(accuracy, self.passes)
        return self.inner.update(epoch, score, CrossFitted.mean_of_others(loss, self.passes))

    def stopped(self) -> Tensor | None:
        """All replicas or none: those that go on need the scores of the others."""
        stopped = self.inner.stopped()
        return None if stopped is None else stopped.all().expand(stopped.shape)

    def patience_left(self) -> Tensor | None:
        return self.inner.patience_left()

    def is_finished(self) -> bool:
        return self.inner.is_finished()

    def tensors(self) -> dict[str, Tensor]:
        """Without the passes, which the rule has."""
        return {name: tensor for name, tensor in super().tensors().items() if name != "passes"}


@dataclass(frozen=True)
class CrossFitted(Selection):
    """Another rule, whose score for replica r is the mean over the other replicas' folds.

    Replica r is trained without fold r. Its own score on that fold does not enter the choice of
    its epoch, so the fold still tests it. The others have trained on fold r: one number per
    replica, its epoch, depends on those labels.
    """

    state: ClassVar[type[Tracker]] = _CrossFitted
    rule: Selection
    passes: tuple[int, ...]
    """[R] Replicas with the same number divide the labels into folds among themselves."""

    on: Part = "test"  # the part of a replica's split that holds its own fold

    def __post_init__(self) -> None:
        for name in ("metric", "adds_penalty", "watches"):
            object.__setattr__(self, name, getattr(self.rule, name))

    def every(self, epochs: int) -> Self:
        """Return the rule where only one in so many epochs is evaluated."""
        return replace(self, rule=self.rule.every(epochs))

    @staticmethod
    def mean_of_others(values: Tensor, passes: Tensor) -> Tensor:
        """Return for each replica the mean over the others of its pass that have not diverged; [R].

        What is chosen by it, an epoch or a setting, does not depend on the replica's own fold.
        """
        is_other = passes[:, None] == passes
        # A product with 0 rather than a difference: not even a last bit depends on the own value.
        is_other = is_other.double().fill_diagonal_(0.0)
        is_known = values.isfinite()
        total = is_other @ values.double().masked_fill(~is_known, 0.0)
        return (total / (is_other @ is_known.double())).to(values.dtype)
