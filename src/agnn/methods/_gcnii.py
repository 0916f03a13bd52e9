"""GCNII, the deep graph convolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import Footprint, LowestLoss, Recipe, Selection

_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"layers": 64},
    "citeseer": {"layers": 32, "hidden": 256, "dropout": 0.7, "strength": 0.6},
    "pubmed": {"layers": 16, "hidden": 256, "dropout": 0.5, "strength": 0.4},
}


@register
@dataclass(frozen=True)
class GCNII(HiddenNetwork):
    """A deep convolution with initial residual and identity mapping.

    The presets are its paper's settings for the fixed splits.
    """

    name: ClassVar[str] = "gcnii"
    title: ClassVar[str] = "GCNII"
    cites: ClassVar[str] = "Chen, Wei, Huang, Ding and Li 2020"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[nn.NodeModel]] = nn.GCNII
    decayed: ClassVar[tuple[str, ...]] = ("layers.*",)
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        **{
            (setting, dataset): fields
            for setting in ("fixed", "random")
            for dataset, fields in _BY_DATASET.items()
        },
        **HiddenNetwork.presets,
    }

    layers: int = 8  # propagation layers
    hidden: int = 64
    alpha: float = 0.1  # share of the first layer that every layer keeps
    strength: float = 0.5  # lambda: how slowly a layer's own matrix fades with depth
    weight_decay: float = 0.01  # of the convolutions
    dense_decay: float = 5e-4  # of the first and the last layer
    dropout: float = 0.6
    epochs: int = 1500
    patience: int = 100  # epochs without progress that end the training

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")
        super().__post_init__()

    @property
    def propagation_steps(self) -> int:
        """One per convolution."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=6 * self.layers * self.hidden)

    def selection(self) -> Selection:
        """Stop when the watched loss no longer falls."""
        return LowestLoss(self.patience, self.watched)

    def recipe(self) -> Recipe:
        """Adam with a separate weight decay for the first and the last layer."""
        return replace(super().recipe(), other_decay=self.dense_decay)
