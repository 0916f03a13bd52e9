"""APPNP, prediction before propagation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods.network import NetworkMethod
from agnn.methods.registry import register
from agnn.training import BestThenLowest, Recipe
from agnn.training.selection import Part


@register
@dataclass(frozen=True)
class APPNP(NetworkMethod):
    """A perceptron whose answers walk over the graph and keep returning to their start."""

    name: ClassVar[str] = "appnp"
    title: ClassVar[str] = "APPNP"
    cites: ClassVar[str] = "Klicpera, Bojchevski and Guennemann 2019"
    note: ClassVar[str] = (
        "Its paper has splits of its own; the figures beside ours are those of the GCNII paper on "
        "the fixed splits. 2,000 epochs are the most here, 10,000 in its program."
    )
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    hidden: int = 64
    steps: int = 10
    alpha: float = 0.1
    learning_rate: float = 0.01
    weight_decay: float = 5e-3
    dropout: float = 0.5
    epochs: int = 2000
    patience: int = 100
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")
        if not 0.0 <= self.alpha <= 1.0:
            raise InputError(f"`alpha` must be between 0 and 1; got {self.alpha}.")

    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> nn.APPNP:
        """The untrained model, one replica a seed."""
        return nn.APPNP(
            features, classes, seeds, hidden=self.hidden, steps=self.steps, alpha=self.alpha,
            backend=backend,
        )  # fmt: skip

    def recipe(self) -> Recipe:
        """Adam with L2 on the first layer, stopped by validation accuracy and loss."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            decayed=("first.*",),
            selection=BestThenLowest(self.patience, self.watched),
        )
