"""DCNN, the diffusion-convolutional network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from agnn import nn
from agnn.data import NodeData, Scaling
from agnn.errors import InputError
from agnn.graph import Graph, diffusion
from agnn.methods.network import NetworkMethod
from agnn.methods.registry import register
from agnn.training import HighestAccuracy, Part, Recipe

if TYPE_CHECKING:
    from agnn.methods.network import Matrix


@register
@dataclass(frozen=True)
class DCNN(NetworkMethod):
    """A classifier of tanh(s X'), X' the features after 0 to `steps` steps of diffusion."""

    name: ClassVar[str] = "dcnn"
    title: ClassVar[str] = "DCNN"
    cites: ClassVar[str] = "Atwood and Towsley 2016"
    note: ClassVar[str] = (
        "Its program has a hinge loss on probabilities and AdaGrad; here cross-entropy and Adam, "
        "the batches of ten as there, the epoch by validation accuracy. The table's cells are the "
        "MoNet authors' run on the fixed split. Their PubMed figure is 2 points below ours; with "
        "the program's own loss and optimiser PubMed came out 3 above it (76.0, three seeds)."
    )
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"learning_rate": (0.001, 0.005, 0.02)}

    implied: ClassVar[Mapping[str, Any]] = {"scaling": "none"}

    scaling: Scaling = "none"
    steps: int = 2
    learning_rate: float = 0.005
    weight_decay: float = 0.0
    batch: int = 10
    epochs: int = 100
    window: int = 4
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InputError(f"`steps` must be at least 0; got {self.steps}.")

    def input_width(self, features: int) -> int:
        """One copy of the features a step, and the features themselves."""
        return features * (self.steps + 1)

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """[X, P X, P^2 X, ...], one step after the other."""
        from scipy.sparse import csr_array, hstack

        P = diffusion(Graph.from_edges(data.edges, data.nodes), torch.float64).matrix()
        parts = [csr_array(super().features(data, fitted_on))]
        for _ in range(self.steps):
            parts.append(P @ parts[-1])
        return csr_array(hstack(parts))

    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> nn.DCNN:
        """The untrained model, one replica a seed."""
        return nn.DCNN(features, classes, seeds, backend=backend)

    def recipe(self) -> Recipe:
        """Adam on the cross-entropy in batches, without dropout."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=0.0,
            batch=self.batch,
            selection=HighestAccuracy(self.window, self.watched),
        )
