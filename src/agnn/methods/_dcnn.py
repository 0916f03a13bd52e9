"""DCNN, the diffusion-convolutional network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from agnn import nn
from agnn.data import NodeData, Scaling
from agnn.errors import InputError
from agnn.graph import Graph, diffusion
from agnn.methods._network import NetworkMethod, propagated_entries
from agnn.methods._protocol import register
from agnn.training import HighestAccuracy, Part, Recipe

if TYPE_CHECKING:
    from agnn.methods._network import Matrix


@register
@dataclass(frozen=True)
class DCNN(NetworkMethod):
    """A classifier of tanh(s X'), X' the features after 0 to `steps` steps of diffusion."""

    name: ClassVar[str] = "dcnn"
    title: ClassVar[str] = "DCNN"
    cites: ClassVar[str] = "Atwood and Towsley 2016"
    uses_edge_weights: ClassVar[bool] = True
    input_bytes: ClassVar[int] = 80  # propagated as sparse matrices of double precision
    model: ClassVar[type[nn.NodeModel]] = nn.DCNN
    takes_class_weights: ClassVar[bool] = False  # it is trained in batches
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"learning_rate": (0.001, 0.005, 0.02)}

    implied: ClassVar[Mapping[str, Any]] = {"scaling": "none"}

    scaling: Scaling = "none"
    steps: int = 2  # powers of the transition matrix
    learning_rate: float = 0.005  # of Adam
    weight_decay: float = 0.0  # weight of the L2 penalty
    batch: int = 10
    epochs: int = 100  # at most
    window: int = 4  # epochs over which the watched accuracy is averaged
    watched: Part = "validation"  # the nodes by which the epoch is chosen

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

    def input_width(self, features: int) -> int:
        """Return the width of the features and one copy per step."""
        return features * (self.steps + 1)

    features_by_row: ClassVar[bool] = False

    def input_entries(self, data: NodeData) -> int:
        """Return an upper bound: propagation fills rows with their neighbours' columns."""
        return sum(propagated_entries(data, self.steps))

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """Return [X, P X, P^2 X, ...]."""
        from scipy.sparse import csr_array, hstack

        P = diffusion(Graph.of(data), torch.float64).matrix()
        parts = [csr_array(super().features(data, fitted_on))]
        for _ in range(self.steps):
            parts.append(P @ parts[-1])
        return csr_array(hstack(parts))

    def recipe(self) -> Recipe:
        """Adam on batches, without dropout."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=0.0,
            batch=self.batch,
            selection=HighestAccuracy(self.window, self.watched),
        )
