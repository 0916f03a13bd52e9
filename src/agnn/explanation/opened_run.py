"""A run that is ready to be asked: its data, its model, and what it says with which confidence."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from agnn.errors import DataError, InputError
from agnn.explanation.node_finder import NodeFinder
from agnn.explanation.trained_model import TrainedModel
from agnn.metrics import Ensemble, calibrated, ensemble_of
from agnn.runs import Run, SavedRun, load_run, stored_data, stored_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split
    from agnn.methods import Method
    from agnn.nn import NodeModel


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """A trained run with its data, from a folder or from memory; a question costs its own answer.

    Whole-graph answers (`scores`, `ensemble`, `probabilities`) are computed on first use and kept.
    """

    data: NodeData
    method: Method
    splits: tuple[Split, ...]  # one a replica
    model: NodeModel | None  # where the method has one
    known_temperature: float | None = None  # None: fitted on first use
    known_scores: Tensor | None = None  # [R, n, c]; None: computed on first use
    folder_run: SavedRun | None = None  # where it is from a folder

    @property
    def saved(self) -> SavedRun:
        """What the folder holds."""
        if self.folder_run is None:
            raise InputError("this run is in memory and has no folder; save it first.")
        return self.folder_run

    @property
    def split(self) -> Split:
        """The first replica's split."""
        return self.splits[0]

    @property
    def replicas(self) -> int:
        """How many models answer together."""
        return len(self.splits)

    @cached_property
    def trained(self) -> TrainedModel:
        """The model with its data; raises where the method has no network."""
        if self.model is None:
            raise InputError(
                f"{self.method.title} has no network whose reasons could be read; a run of agnn, "
                f"gcn or gln has."
            )
        return TrainedModel(self.model, self.data, self.method)

    @cached_property
    def temperature(self) -> float:
        """The number that makes confidences true, fitted to the validation nodes in training."""
        if self.known_temperature is not None:
            return self.known_temperature
        return calibrated(self.scores, self.data, self.splits).temperature

    @cached_property
    def scores(self) -> Tensor:
        """Every replica's probabilities at every node; [R, n, c]."""
        found = self.trained.scores if self.known_scores is None else self.known_scores
        if found.shape != (self.replicas, self.data.nodes, self.data.classes):
            raise DataError(f"the run's answers do not fit its data: {list(found.shape)}.")
        return found

    @cached_property
    def ensemble(self) -> Ensemble:
        """What the replicas say together about every node."""
        return ensemble_of(self.scores, self.temperature)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """[n, c] The mean over the replicas at the run's temperature: what "confidence" means."""
        return self.ensemble.probabilities

    def ensemble_at(self, nodes: ArrayLike) -> Ensemble:
        """What the replicas say about some nodes [k]; a large graph is not computed for it."""
        wanted = torch.as_tensor(nodes, dtype=torch.int64)
        is_known = "scores" in self.__dict__ or self.known_scores is not None
        found = self.scores[:, wanted] if is_known else self.trained.scores_at(wanted)
        return ensemble_of(found, self.temperature)

    def is_cheap(self, nodes: ArrayLike) -> bool:
        """Whether `ensemble_at` answers for these nodes [k] at once."""
        is_known = "scores" in self.__dict__ or self.known_scores is not None
        return is_known or self.trained.is_cheap(torch.as_tensor(nodes, dtype=torch.int64))

    def node(self, name: Hashable) -> int:
        """The index of the node with this id: the id itself, or its text."""
        return self._finder.find(name)

    def has_node(self, name: Hashable) -> bool:
        """Whether `node` knows this id."""
        return self._finder.knows(name)

    @cached_property
    def _finder(self) -> NodeFinder:
        return NodeFinder(self.data.node_ids, self.data.name)


def open_run(folder: Path | str) -> OpenedRun:
    """The run in a folder that `agnn train --out` or `save_run` wrote, on the CPU."""
    saved = load_run(folder)
    return OpenedRun(
        data=stored_data(saved),
        method=saved.method,
        splits=saved.splits,
        model=saved.model,
        known_temperature=saved.temperature,
        known_scores=stored_scores(saved) if saved.model is None else None,
        folder_run=saved,
    )


def as_opened(run: Run) -> OpenedRun:
    """A run that was just trained, as if opened from its folder."""
    return OpenedRun(
        data=run.data,
        method=run.method,
        splits=run.splits,
        model=run.outcome.model,
        known_temperature=run.calibration.temperature,
        known_scores=run.outcome.scores.cpu(),
    )
