"""SGC, the simple graph convolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch

from agnn import nn
from agnn.data import NodeData
from agnn.errors import InputError
from agnn.graph import Graph, symmetric
from agnn.methods._network import NetworkMethod, propagated_entries
from agnn.methods._protocol import register
from agnn.training import LastEpoch, Recipe

if TYPE_CHECKING:
    from agnn.methods._network import Matrix


@register
@dataclass(frozen=True)
class SGC(NetworkMethod):
    """softmax(P^k X W + b): the features are propagated once, before training."""

    name: ClassVar[str] = "sgc"
    title: ClassVar[str] = "SGC"
    cites: ClassVar[str] = "Wu, Zhang, de Souza et al. 2019"
    uses_edge_weights: ClassVar[bool] = True
    input_bytes: ClassVar[int] = 80  # propagated as sparse matrices of double precision
    model: ClassVar[type[nn.NodeModel]] = nn.SGC
    # The best on the fixed splits' validation nodes, 1e-5 on Cora.
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        (setting, dataset): {"weight_decay": 1e-4}
        for setting in ("fixed", "random")
        for dataset in ("citeseer", "pubmed")
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "weight_decay": (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
    }

    steps: int = 2  # K: powers of the adjacency matrix
    learning_rate: float = 0.2  # of Adam
    weight_decay: float = 1e-5  # weight of the L2 penalty
    dropout: float = 0.0  # share of inputs that a step drops
    epochs: int = 100  # all of them are run

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InputError(f"`steps` must be at least 0; got {self.steps}.")

    @property
    def propagation_steps(self) -> int:
        """None during training."""
        return 0

    @property
    def state_width(self) -> int:
        """None: the only layer gives the logits."""
        return 0

    features_by_row: ClassVar[bool] = False

    def input_entries(self, data: NodeData) -> int:
        """Return an upper bound: propagation fills rows with their neighbours' columns."""
        return propagated_entries(data, self.steps)[-1]

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """Return P^k X."""
        P = symmetric(Graph.of(data), torch.float64).matrix()
        X = super().features(data, fitted_on)
        for _ in range(self.steps):
            X = P @ X
        return X

    def propagating(self, model: nn.NodeModel) -> tuple[NetworkMethod, nn.NodeModel] | None:
        """Return the method without steps, and a model that takes them."""
        if not self.steps:
            return None
        return replace(self, steps=0), nn.PropagatingSGC(cast(nn.SGC, model), self.steps)

    def recipe(self) -> Recipe:
        """Adam for a fixed number of epochs, whose last is kept."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            selection=LastEpoch(),
        )
