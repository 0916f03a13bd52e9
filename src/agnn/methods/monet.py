"""MoNet, mixtures of Gaussians over the edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods.network import NetworkMethod
from agnn.methods.registry import register
from agnn.training import Recipe, WindowStop
from agnn.training.selection import Part


@register
@dataclass(frozen=True)
class MoNet(NetworkMethod):
    """Two layers whose neighbours are weighed by Gaussian kernels of their degrees."""

    name: ClassVar[str] = "monet"
    title: ClassVar[str] = "MoNet"
    cites: ClassVar[str] = "Monti, Boscaini, Masci et al. 2017"
    note: ClassVar[str] = (
        "The paper leaves open that each kernel's weights sum to 1 over a neighbourhood and that "
        "both layers share their kernels: both as in Shchur et al.'s program, written against the "
        "authors'. All parameters are trained together, not in turns. Trained and stopped as GCN."
    )
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"kernels": (1, 2, 4)}

    hidden: int = 16
    kernels: int = 2
    dimensions: int = 2
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    epochs: int = 200
    window: int = 10
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")

    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> nn.MoNet:
        """The untrained model, one replica a seed."""
        return nn.MoNet(
            features, classes, seeds, hidden=self.hidden, kernels=self.kernels,
            dimensions=self.dimensions, backend=backend,
        )  # fmt: skip

    def recipe(self) -> Recipe:
        """Adam with L2 on the first layer's maps, stopped when the validation loss turns."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            decayed=("first.*",),
            selection=WindowStop(self.window, self.watched),
        )
