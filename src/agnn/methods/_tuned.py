"""A method whose hyper-parameters are chosen on the validation nodes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from agnn.errors import DivergedError, InputError
from agnn.networks import Method, Outcome, Task, validation_scores

_SEEDS_FOR_CHOICE = 3  # replicas of a split that every candidate is tried with


@dataclass(frozen=True)
class Tuned(Method):
    """`base` with the entry of its grid that predicts most validation nodes of a split correctly.

    The choice is made per split by the mean over its first few replicas; of equal candidates the
    first in the grid's order wins. Test labels are never read.
    """

    base: Method

    def __post_init__(self) -> None:
        if not self.base.grid:
            raise InputError(f"{self.base.name} has no grid to tune over.")
        for known in ("name", "title", "cites", "takes_class_weights", "uses_edge_weights"):
            object.__setattr__(self, known, getattr(self.base, known))

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
        groups: dict[int, list[int]] = {}
        for r, split in enumerate(task.splits):
            groups.setdefault(id(split), []).append(r)
        # Many short trainings: no meaningful overall progress to report.
        task = replace(task, progress=None, callbacks=())
        scores: dict[int, Tensor] = {}
        settings: dict[int, dict[str, Any]] = {}
        for replicas in groups.values():
            chosen = self.choose(_part(task, replicas[:_SEEDS_FOR_CHOICE]))
            found = chosen.run(_part(task, replicas))
            # The histories of several trainings are not kept, so nothing could mark the replica.
            if found.history is not None and bool(found.history.unusable.any()):
                raise DivergedError(f"training diverged for a replica of the tuned {self.name}.")
            for r, own in zip(replicas, found.scores, strict=True):
                scores[r], settings[r] = own, chosen.settings
        order = range(len(task.seeds))
        return Outcome(
            torch.stack([scores[r] for r in order]), chosen=tuple(settings[r] for r in order)
        )

    def choose(self, task: Task) -> Method:
        """Return the candidate with the highest score on the validation nodes of `task`."""
        best = -math.inf
        chosen: Method | None = None
        for candidate in self.candidates():
            try:
                scores = candidate.run(task).scores
            except DivergedError:  # the next candidate may not
                continue
            score = fmean(
                validation_scores(scores, task.data, task.splits, "to tune on", task.metric)
            )
            if score > best:
                best, chosen = score, candidate
        if chosen is None:
            raise DivergedError(f"training diverged for every candidate of {self.name}'s grid.")
        return chosen


def _part(task: Task, replicas: Sequence[int]) -> Task:
    weights = task.class_weights
    return replace(
        task,
        splits=tuple(task.splits[r] for r in replicas),
        seeds=tuple(task.seeds[r] for r in replicas),
        class_weights=None if weights is None else weights[list(replicas)],
    )
