"""FAGCN, whose edges may add or subtract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import Footprint, LowestLoss, Selection

_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"layers": 4, "weight_decay": 0.001, "epsilon": 0.1, "dropout": 0.6},
    "citeseer": {"layers": 4, "weight_decay": 0.001, "epsilon": 0.2, "dropout": 0.6},
    "pubmed": {"layers": 4, "weight_decay": 0.0005, "epsilon": 0.2, "dropout": 0.6},
}


@register
@dataclass(frozen=True)
class FAGCN(HiddenNetwork):
    """Layers with learned weights between -1 and 1, for like and for unlike neighbours.

    The defaults are those of its authors' program. Their settings for the fixed splits are not
    published: the presets were chosen on validation nodes.
    """

    name: ClassVar[str] = "fagcn"
    title: ClassVar[str] = "FAGCN"
    cites: ClassVar[str] = "Bo, Wang, Shi and Shen 2021"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[nn.NodeModel]] = nn.FAGCN
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        **{
            (setting, dataset): fields
            for setting in ("fixed", "random")
            for dataset, fields in _BY_DATASET.items()
        },
        **HiddenNetwork.presets,
    }

    layers: int = 2  # propagation layers
    hidden: int = 32
    epsilon: float = 0.3  # the share of H(0) that every layer adds
    learning_rate: float = 0.01
    weight_decay: float = 5e-5
    dropout: float = 0.5
    epochs: int = 500
    patience: int = 200  # epochs without progress that end the training

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=4 * self.layers * self.hidden, per_edge=8 * self.layers)

    def selection(self) -> Selection:
        """The epoch with the lowest loss, as in their program."""
        return LowestLoss(self.patience, self.watched)
