"""GAT, the graph attention network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import BothBest, Footprint, Selection


@register
@dataclass(frozen=True)
class GAT(HiddenNetwork):
    """Two layers of additive attention with several heads.

    The presets are the settings of its paper: PubMed has eight output heads and other rates.
    """

    name: ClassVar[str] = "gat"
    title: ClassVar[str] = "GAT"
    cites: ClassVar[str] = "Velickovic, Cucurull, Casanova et al. 2018"
    model: ClassVar[type[nn.NodeModel]] = nn.GAT
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        **{
            (setting, "pubmed"): {
                "output_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3
            }
            for setting in ("fixed", "random")
        },
        **HiddenNetwork.presets,
    }  # fmt: skip

    hidden: int = 8  # width of a head
    heads: int = 8  # of the first layer
    output_heads: int = 1  # of the last layer
    learning_rate: float = 0.005
    dropout: float = 0.6
    epochs: int = 2000
    patience: int = 100  # epochs without progress that end the training

    @property
    def state_width(self) -> int:
        """That of all heads."""
        return self.hidden * self.heads

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(
            per_node=4 * self.state_width + 8 * classes * self.output_heads + 8 * self.heads,
            per_edge=4 * (self.heads + self.output_heads),
        )

    def selection(self) -> Selection:
        """Stop by loss and accuracy together."""
        return BothBest(self.patience, self.watched)
