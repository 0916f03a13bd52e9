"""GCN and its linear sibling GLN."""

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
class GCN(NetworkMethod):
    """softmax(P ReLU(P X W0) W1), Eq. (1), trained as Kipf and Welling's program trains it."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"
    cites: ClassVar[str] = "Kipf and Welling 2017"
    model: ClassVar[type[nn.GCN]] = nn.GCN
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        # Paper: there is no third part in k-fold runs; training stops by the evaluated fold.
        ("cross-validation", "*"): {"watched": "test"},
    }

    hidden: int = 16
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    epochs: int = 200
    window: int = 10
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")

    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> nn.GCN:
        """The untrained model, one replica a seed."""
        return self.model(features, classes, seeds, hidden=self.hidden, backend=backend)

    def recipe(self) -> Recipe:
        """Adam with L2 on the first layer, stopped when the validation loss turns."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            decayed=("first.*",),
            selection=WindowStop(self.window, self.watched),
        )


@register
@dataclass(frozen=True)
class GLN(GCN):
    """softmax(P^2 X W0 W1), Eq. (3), with GCN's settings."""

    name: ClassVar[str] = "gln"
    title: ClassVar[str] = "GLN"
    cites: ClassVar[str] = "Thekumparampil, Wang, Oh and Li 2018"
    model: ClassVar[type[nn.GCN]] = nn.GLN
