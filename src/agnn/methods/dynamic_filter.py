"""DynamicFilter, later published as FeaStNet."""

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
class DynamicFilter(NetworkMethod):
    """Two layers that share their neighbours out softly among several filters."""

    name: ClassVar[str] = "dynamic_filter"
    title: ClassVar[str] = "DynamicFilter"
    cites: ClassVar[str] = "Verma, Boyer and Verbeek 2017"
    note: ClassVar[str] = (
        "Its program covers meshes only: layers, width, training and the stopping rule are GCN's "
        "here, the form is the translation-invariant one, and the number of filters is the best of "
        "1, 2, 4 and 8 on Cora's validation nodes."
    )
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"filters": (1, 2, 4, 8)}

    hidden: int = 16
    filters: int = 2
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    epochs: int = 200
    window: int = 10
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")

    def build(
        self, features: int, classes: int, seeds: Sequence[int], backend: str
    ) -> nn.DynamicFilter:
        """The untrained model, one replica a seed."""
        return nn.DynamicFilter(
            features, classes, seeds, hidden=self.hidden, filters=self.filters, backend=backend
        )

    def recipe(self) -> Recipe:
        """Adam with L2 on the first layer, stopped when the validation loss turns."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            decayed=("first.*", "first_assignment.*"),
            selection=WindowStop(self.window, self.watched),
        )
