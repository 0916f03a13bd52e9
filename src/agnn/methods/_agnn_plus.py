"""AGNN+, a descendant of AGNN with a mean over hops and consistency training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.graph import Features, Graph
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.nn import NodeModel
from agnn.training import (
    BestScore,
    Consistency,
    ConsistencySettings,
    Footprint,
    Objective,
    Selection,
)


@register
@dataclass(frozen=True)
class AGNNPlus(HiddenNetwork):
    """AGNN whose output layer reads the mean over all hops, trained by consistency."""

    name: ClassVar[str] = "agnn_plus"
    title: ClassVar[str] = "AGNN+"
    cites: ClassVar[str] = "Thekumparampil et al. 2018 with consistency of Feng et al. 2020"
    model: ClassVar[type[NodeModel]] = nn.AGNNPlus
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "last.*")

    layers: int = 4
    hidden: int = 64
    epochs: int = 1000
    patience: int = 100
    input_dropout: float | None = None  # of the features; None: `dropout`
    row_dropout: float = 0.5  # of whole rows of H(0)
    versions: int = 2  # S: random versions of a replica per step
    strength: float = 1.0  # lambda: how much consistency counts; 0: one version, none of it
    temperature: float = 0.5  # T: the mean of the versions is sharpened by it
    confidence: float = 0.2  # nodes less sure do not count; 0 is chance, 1 certainty
    warm_up: int = 100  # steps in which lambda rises to its value
    sample: int = 30_000  # nodes per step that are made consistent, where there are more

    @property
    def propagation_steps(self) -> int:
        """One per attention layer."""
        return self.layers

    @property
    def betas(self) -> tuple[nn.Beta, ...]:
        """Every layer's beta starts at 1 and is learned."""
        return (nn.Beta(),) * self.layers

    def objective(self, model: NodeModel, features: Features, graph: Graph) -> Objective | None:
        """Cross-entropy of all versions, and their consistency."""
        if self.strength == 0.0:
            return None
        if not isinstance(model, nn.AGNNPlus):
            raise InputError(f"{self.name} trains its own model; got {type(model).__name__}.")
        settings = ConsistencySettings(
            self.versions, self.strength, self.temperature, self.confidence, self.warm_up,
            self.sample,
        )  # fmt: skip
        return Consistency(model, features, graph, settings)

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=(self.layers + 4) * self.hidden, copies=max(self.versions, 1))

    def selection(self) -> Selection:
        """The epoch of the best accuracy and, among equals, of the lowest loss."""
        return BestScore(self.patience, self.watched)
