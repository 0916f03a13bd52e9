"""APPNP, prediction before propagation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import BestThenLowest, Footprint, Selection


@register
@dataclass(frozen=True)
class APPNP(HiddenNetwork):
    """A perceptron whose predictions are propagated by personalised PageRank."""

    name: ClassVar[str] = "appnp"
    title: ClassVar[str] = "APPNP"
    cites: ClassVar[str] = "Klicpera, Bojchevski and Günnemann 2019"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[nn.NodeModel]] = nn.APPNP
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)

    hidden: int = 64
    steps: int = 10  # K: of the power iteration
    alpha: float = 0.1  # probability of a restart
    weight_decay: float = 5e-3
    epochs: int = 2000
    patience: int = 100  # epochs without progress that end the training

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.alpha <= 1.0:
            raise InputError(f"`alpha` must be between 0 and 1; got {self.alpha}.")

    @property
    def propagation_steps(self) -> int:
        """Those of the power iteration."""
        return self.steps

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=(4 * self.steps + 8) * classes, per_edge=3 * self.steps + 4)

    def selection(self) -> Selection:
        """Stop by accuracy and loss."""
        return BestThenLowest(self.patience, self.watched)
