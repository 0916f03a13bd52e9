"""The best of a few candidates, each tried once: grids, and the choices inside a method."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from agnn.choosing._scores import candidate_scores, held_out_scores
from agnn.errors import DivergedError, InputError
from agnn.methods import Method, NetworkMethod, Outcome, Task

_SEEDS_FOR_CHOICE = 3  # replicas that every candidate is tried with


def best_candidate(candidates: Sequence[Method], task: Task, metric: str | None = None) -> Method:
    """Return the candidate with the highest mean score at the held-out nodes of `task`.

    Of equal candidates the first wins. One whose training diverges is passed over. It is one for
    all replicas: if they are cross-fitted, each one's own fold is among those that choose it.
    """
    best_score = -math.inf
    best: Method | None = None
    for candidate in candidates:
        try:
            score = fmean(candidate_scores(candidate, task, metric))
        except DivergedError:  # the next candidate may not
            continue
        if score > best_score:
            best_score = score
            best = candidate
    if best is None:
        raise DivergedError(f"training diverged for every candidate of {candidates[0].name}.")
    return best


def settle(method: Method, task: Task) -> Method:
    """Return the method with the choice made that it leaves to validation nodes, if any.

    All replicas have the choice of the first few, by the metric that chooses their epochs. If
    they are cross-fitted, the folds of these few choose, so for them the choice is not out of fold.
    """
    alternatives = method.alternatives()
    if not alternatives:
        return method
    trial = task.first(_SEEDS_FOR_CHOICE)
    if (progress := task.progress) is not None:  # nothing of the training is done yet
        trial = replace(trial, progress=lambda _, total: progress(0, total))
    return best_candidate(alternatives, trial, task.metric or _own_metric(method, task))


def _own_metric(method: Method, task: Task) -> str:
    """Return the metric by which a method chooses its epochs."""
    metric = method.recipe().selection.metric if isinstance(method, NetworkMethod) else "accuracy"
    if metric == "best":
        return "auc" if task.data.classes == 2 else "accuracy"
    return metric


@dataclass(frozen=True)
class Tuned(Method):
    """`base` with the entry of its grid that predicts most validation nodes of a split correctly.

    The choice is made per split by the mean over its first few replicas; of equal candidates the
    first in the grid's order wins. Test labels are never read. Replicas that are cross-fitted
    choose by the folds of the others: a replica's own fold does not choose its setting.
    """

    base: Method

    def __post_init__(self) -> None:
        if not self.base.grid:
            raise InputError(f"{self.base.name} has no grid to tune over.")
        for name in ("name", "title", "cites", "takes_class_weights", "uses_edge_weights"):
            object.__setattr__(self, name, getattr(self.base, name))

    @property
    def configuration(self) -> str:
        """How the hyper-parameters were found."""
        return "tuned"

    @property
    def settings(self) -> dict[str, Any]:
        """The base's hyper-parameters, of which those in its grid are chosen anew."""
        return self.base.settings

    def candidates(self) -> list[Method]:
        """Return the base method at every point of its grid."""
        grid = self.base.grid
        points = itertools.product(*grid.values())
        return [self.base.with_fields(**dict(zip(grid, p, strict=True))) for p in points]

    def run(self, task: Task) -> Outcome:
        """Return every replica's scores under the candidate chosen for its split."""
        # Many short trainings: no meaningful overall progress to report.
        task = replace(task, progress=None, callbacks=())
        if task.passes:
            return self._run_cross_fitted(task)
        groups: dict[int, list[int]] = {}
        for r, split in enumerate(task.splits):
            groups.setdefault(id(split), []).append(r)
        scores: dict[int, Tensor] = {}
        settings: dict[int, dict[str, Any]] = {}
        for replicas in groups.values():
            method = self.choose(_part(task, replicas[:_SEEDS_FOR_CHOICE]))
            outcome = method.run(_part(task, replicas))
            self._check_finished(outcome)
            for r, replica_scores in zip(replicas, outcome.scores, strict=True):
                scores[r] = replica_scores
                settings[r] = method.settings
        order = range(len(task.seeds))
        return Outcome(
            torch.stack([scores[r] for r in order]), chosen=tuple(settings[r] for r in order)
        )

    def _run_cross_fitted(self, task: Task) -> Outcome:
        """Return every replica's scores under the candidate that the others' folds choose."""
        best = [-math.inf] * len(task.seeds)
        scores: dict[int, Tensor] = {}
        settings: dict[int, dict[str, Any]] = {}
        for candidate in self.candidates():
            outcome = candidate.run(task)
            self._check_finished(outcome)
            by_replica = held_out_scores(outcome.scores, task)
            for r, value in enumerate(task.values_to_choose_by(by_replica)):
                if value > best[r]:
                    best[r] = value
                    scores[r] = outcome.scores[r]
                    settings[r] = candidate.settings
        order = range(len(task.seeds))
        return Outcome(
            torch.stack([scores[r] for r in order]), chosen=tuple(settings[r] for r in order)
        )

    def _check_finished(self, outcome: Outcome) -> None:
        """Raise where a replica diverged: no history is kept that could mark it."""
        if outcome.history is not None and bool(outcome.history.unusable.any()):
            raise DivergedError(f"training diverged for a replica of the tuned {self.name}.")

    def choose(self, task: Task) -> Method:
        """Return the candidate with the highest score on the validation nodes of `task`."""
        return best_candidate(self.candidates(), task)


def _part(task: Task, replicas: Sequence[int]) -> Task:
    """Return the task of these replicas alone."""
    weights = task.class_weights
    return replace(
        task,
        splits=tuple(task.splits[r] for r in replicas),
        seeds=tuple(task.seeds[r] for r in replicas),
        class_weights=None if weights is None else weights[list(replicas)],
    )
