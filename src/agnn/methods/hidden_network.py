"""What the networks with a hidden layer have in common: how they are trained."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn.errors import InputError
from agnn.methods.network import NetworkMethod
from agnn.training import Part, Recipe, Selection


@dataclass(frozen=True)
class HiddenNetwork(NetworkMethod):
    """Adam on the mean cross-entropy with L2 and dropout; the epoch by what is watched."""

    decayed: ClassVar[tuple[str, ...]] = ("*",)  # patterns over the parameters that have L2
    # Paper: there is no third part in k-fold runs; the epoch is chosen on the evaluated fold.
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    hidden: int = 16
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    epochs: int = 200
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")

    @abstractmethod
    def selection(self) -> Selection:
        """The rule that stops training and chooses the epoch."""

    def recipe(self) -> Recipe:
        """How the model is trained."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            decayed=self.decayed,
            selection=self.selection(),
        )
