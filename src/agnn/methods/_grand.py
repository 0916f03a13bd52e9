"""GRAND, random propagation and consistency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from agnn import nn
from agnn.errors import InputError
from agnn.graph import Features, Graph
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import Task, register
from agnn.nn import NodeModel
from agnn.training import (
    Consistency,
    ConsistencySettings,
    Footprint,
    LowestLoss,
    MemoryEstimate,
    Objective,
    Selection,
)

_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"steps": 8},
    "citeseer": {
        "steps": 2, "versions": 2, "temperature": 0.3, "strength": 0.7, "input_dropout": 0.0,
        "dropout": 0.2,
    },
    "pubmed": {
        "steps": 5, "temperature": 0.2, "learning_rate": 0.2, "input_dropout": 0.6,
        "dropout": 0.8, "has_norm": True, "patience": 100,
    },
}  # fmt: skip


@register
@dataclass(frozen=True)
class GRAND(HiddenNetwork):
    """A perceptron on propagated features with random rows left out, made consistent.

    The presets are its authors' settings. Other graphs have those of Cora with fewer steps.
    """

    name: ClassVar[str] = "grand"
    title: ClassVar[str] = "GRAND"
    cites: ClassVar[str] = "Feng, Zhang, Dong et al. 2020"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = nn.GRAND
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        **{
            (setting, dataset): fields
            for setting in ("fixed", "random")
            for dataset, fields in _BY_DATASET.items()
        },
        **HiddenNetwork.presets,
    }

    steps: int = 4  # K
    hidden: int = 32
    epochs: int = 5000
    patience: int = 200  # epochs without progress that end the training
    input_dropout: float = 0.5  # of the input of the first layer
    row_dropout: float = 0.5  # q
    versions: int = 4  # S
    strength: float = 1.0  # lambda
    temperature: float = 0.5  # T
    has_norm: bool = False  # batch normalisation before both layers

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps < 0:
            raise InputError(f"`steps` must be at least 0; got {self.steps}.")

    @property
    def propagation_steps(self) -> int:
        """K."""
        return self.steps

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(copies=self.versions)

    def memory_estimate(self, task: Task) -> MemoryEstimate:
        """Propagated features of every version, and what normalisation keeps of them."""
        own = super().memory_estimate(task)
        versions = len(task.seeds) * self.versions
        line = 4 * task.data.nodes * task.data.feature_count * versions
        return replace(own, working=own.working + (7 if self.has_norm else 4) * line)

    def objective(self, model: NodeModel, features: Features, graph: Graph) -> Objective | None:
        """Cross-entropy of all versions, and their consistency."""
        settings = ConsistencySettings(self.versions, self.strength, self.temperature)
        return Consistency(cast(nn.GRAND, model), features, graph, settings)

    def selection(self) -> Selection:
        """The epoch of the lowest loss; better accuracy counts as progress, too."""
        return LowestLoss(self.patience, self.watched, or_accuracy=True)
