"""What a training gives: replicas, how they were trained, which diverged, and their accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.choosing import ClassWeight
from agnn.data import NodeData, Split, SplitSpec
from agnn.data.store import preset_name
from agnn.methods import Method
from agnn.metrics import Summary, replica_values
from agnn.networks import NodeModel
from agnn.tables import mean_text
from agnn.training import History

_OPTIMISTIC: Final = (
    "the epoch was chosen on the evaluated fold, which is the paper's protocol and optimistic"
)


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult:
    """A method trained on a graph: data, settings, replicas and their accuracy, all as it was.

    `Run` adds what it predicts.
    """

    data: NodeData
    method: Method
    splits: tuple[Split, ...]  # one per replica
    seeds: tuple[int, ...]  # one per replica
    accuracy: Summary
    """Percent of the test nodes: one value per replica; with folds, one per trial.

    Unusable replicas are left out, see `unusable`.
    """

    unseen: Summary | None = None
    """The same by replicas that were trained without the tested nodes in the graph.

    This is what to expect of nodes that come later; None where it was not asked for.
    """

    model: NodeModel | None = None
    """The trained network; None for methods without one."""

    split_spec: str = "fixed"
    history: History | None = None
    """Losses and accuracies per epoch; None without epochs, or if an old folder lacks them."""

    chosen: Sequence[Mapping[str, Any]] | None = None
    """Each replica's hyper-parameters, if they were tuned on validation nodes."""

    seconds: float = 0.0  # of training
    device: str = "cpu"
    backend: str = "auto"
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Where it was trained: processor, cores, threads, memory, GPU; empty in an old folder."""

    class_weight: ClassWeight = None
    metric: str | None = None
    """By which epochs and settings were chosen; None: by the method's own rule."""

    choice: Mapping[str, Any] | None = None
    """What was tried, what won and by how much, where the method was chosen automatically."""

    notes: Mapping[str, Any] | None = None
    """The caller's own words, saved with the run."""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.method.title} on {self.data.name}, split "
            f"{self.split_spec}, {self.replicas} replicas: {mean_text(self.accuracy, 2, ' %')})"
        )

    @property
    def split(self) -> Split:
        """The first replica's split."""
        return self.splits[0]

    @property
    def replicas(self) -> int:
        """Number of trained models."""
        return len(self.splits)

    @property
    def folds(self) -> int:
        """Number of replicas per trial; 1 without folds."""
        return SplitSpec.parse(self.split_spec).folds

    @property
    def passes(self) -> tuple[int, ...]:
        """The pass over the labels that each replica belongs to; () unless cross-fitted."""
        return SplitSpec.parse(self.split_spec).passes(self.replicas)

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """[R] Replicas whose training diverged."""
        if self.history is None:
            return np.zeros(self.replicas, dtype=bool)
        return np.asarray(self.history.diverged.cpu().numpy())

    @property
    def diverged_epochs(self) -> list[int] | None:
        """The epoch, from 1, at which each replica diverged, 0 for none; None without a history."""
        return None if self.history is None else self.history.diverged_epochs.tolist()

    @property
    def unusable(self) -> NDArray[np.bool_]:
        """[R] Replicas that diverged before there was an epoch with finite weights to keep.

        Accuracies and other measures leave them out. A trial is the mean over its other folds;
        without any it is left out too.
        """
        return unusable_replicas(self.history, self.replicas)

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The replicas that form the ensemble, by index: all but those that diverged."""
        if self.history is None:
            return np.arange(self.replicas)
        return np.asarray(self.history.members.cpu().numpy())

    @property
    def member_splits(self) -> tuple[Split, ...]:
        """The splits of these replicas."""
        return tuple(self.splits[replica] for replica in self.members)

    @property
    def betas(self) -> list[list[float]] | None:
        """Every replica's betas, layer by layer; None for methods without them."""
        betas = None if self.model is None else self.model.betas
        return None if betas is None else betas.tolist()

    @property
    def selected_epochs(self) -> list[int] | None:
        """The epoch, from 1, whose weights each replica keeps; None without epochs."""
        return None if self.history is None else self.history.selected_epochs.tolist()

    @property
    def seconds_per_replica_epoch(self) -> float | None:
        """Training time per replica and epoch; None without epochs."""
        if self.history is None:
            return None
        return self.seconds / (self.replicas * self.history.training_loss.shape[0])

    @property
    def configuration(self) -> str | None:
        """How the hyper-parameters were found: "tuned", or "published" on a dataset of the package.

        None on any other graph: nobody has published any for it.
        """
        is_published = self.method.configuration == "published"
        if is_published and preset_name(self.data) == "*":
            return None
        return self.method.configuration

    @property
    def is_automatic(self) -> bool:
        """Whether the method was chosen from many with their settings (`auto`)."""
        choice = self.choice or {}
        return "winner" in choice and choice.get("default") is None

    @property
    def caveat(self) -> str | None:
        """A warning about how the accuracy was obtained, or None."""
        return _OPTIMISTIC if getattr(self.method, "watched", None) == "test" else None

    @property
    def is_cross_fitted(self) -> bool:
        """Whether every label is tested by a replica that was not trained on it."""
        return SplitSpec.parse(self.split_spec).is_cross_fitted


def unusable_replicas(history: History | None, replicas: int) -> NDArray[np.bool_]:
    """Return which replicas diverged before any epoch had finite weights to keep; [R]."""
    if history is None or not bool(history.diverged.any()):
        return np.zeros(replicas, dtype=bool)
    return np.asarray(history.unusable.cpu().numpy())


def trial_means(values: Sequence[float], folds: int, unusable: NDArray[np.bool_]) -> list[float]:
    """Return the mean of each `folds` consecutive values, without those of unusable replicas [R].

    A trial without a usable replica is left out.
    """
    means = []
    for start in range(0, len(values), folds):
        trial = range(start, start + folds)
        usable = [values[replica] for replica in trial if not unusable[replica]]
        if usable:
            means.append(fmean(usable))
    return means


def trial_values(
    measure: str,
    scores: Tensor,
    data: NodeData,
    splits: Sequence[Split],
    spec: SplitSpec,
    unusable: NDArray[np.bool_],
) -> list[float]:
    """Return a measure on test nodes: one value per replica, with folds per trial.

    A trial of k folds is the mean over them; where they are cross-fitted it is one value over the
    nodes of all folds. Unusable replicas [R] are left out.
    """
    if not spec.is_cross_fitted:
        values = replica_values(measure, scores, data, splits)
        return trial_means(values, spec.folds, unusable)
    usable = np.flatnonzero(~unusable).tolist()
    passes = spec.passes(len(splits))
    return replica_values(
        measure,
        scores[usable],
        data,
        [splits[replica] for replica in usable],
        [passes[replica] for replica in usable],
    )


def divergence_warning(epochs: Sequence[int], replicas: int, unusable: int) -> str:
    """Return how many replicas diverged, at which `epochs`, and what leaves them out."""
    earliest = min(epochs)
    latest = max(epochs)
    count = len(epochs)
    when = f"at epoch {earliest}" if earliest == latest else f"from epoch {earliest} to {latest}"
    warning = f"{count} of {replicas} replicas diverged, {when}"
    if count < replicas:
        warning += f", and the ensemble leaves {_them(count)} out"
    if unusable:
        warning += (
            f"; {unusable} had no finite weights to keep, so the accuracy leaves "
            f"{_them(unusable)} out"
        )
    return f"{warning}. Use a lower learning rate, and check the scale of the features."


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
