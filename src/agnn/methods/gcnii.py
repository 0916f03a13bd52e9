"""GCNII, the deep graph convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods.network import NetworkMethod
from agnn.methods.registry import register
from agnn.training import LowestLoss, Recipe
from agnn.training.selection import Part

_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"layers": 64},
    "citeseer": {"layers": 32, "hidden": 256, "dropout": 0.7, "strength": 0.6},
    "pubmed": {"layers": 16, "hidden": 256, "dropout": 0.5, "strength": 0.4},
}


@register
@dataclass(frozen=True)
class GCNII(NetworkMethod):
    """Many convolutions, each pulled back to the first state and near to the identity.

    The presets are its paper's settings for the fixed splits.
    """

    name: ClassVar[str] = "gcnii"
    title: ClassVar[str] = "GCNII"
    cites: ClassVar[str] = "Chen, Wei, Huang, Ding and Li 2020"
    note: ClassVar[str] = (
        "Weights start as Glorot's here, uniform within 1 / sqrt(width) in its program."
    )
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        **{
            (setting, dataset): fields
            for setting in ("fixed", "random")
            for dataset, fields in _BY_DATASET.items()
        },
        ("cross-validation", "*"): {"watched": "test"},
    }

    layers: int = 8
    hidden: int = 64
    alpha: float = 0.1
    strength: float = 0.5  # lambda: how fast a layer's own map fades with depth
    learning_rate: float = 0.01
    weight_decay: float = 0.01  # of the convolutions
    dense_decay: float = 5e-4  # of the first and the last layer
    dropout: float = 0.6
    epochs: int = 1500
    patience: int = 100
    watched: Part = "validation"

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")

    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> nn.GCNII:
        """The untrained model, one replica a seed."""
        return nn.GCNII(
            features, classes, seeds, hidden=self.hidden, layers=self.layers, alpha=self.alpha,
            strength=self.strength, backend=backend,
        )  # fmt: skip

    def recipe(self) -> Recipe:
        """Adam with two weight decays, stopped when the validation loss no longer falls."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            other_decay=self.dense_decay,
            dropout=self.dropout,
            decayed=("layers.*",),
            selection=LowestLoss(self.patience, self.watched),
        )
