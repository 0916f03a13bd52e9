"""GCN and its linear sibling GLN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnn import nn
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import Footprint, Selection, WindowStop


@register
@dataclass(frozen=True)
class GCN(HiddenNetwork):
    """softmax(P ReLU(P X W0) W1), Eq. (1), trained as in Kipf and Welling's code."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"
    cites: ClassVar[str] = "Kipf and Welling 2017"
    uses_edge_weights: ClassVar[bool] = True
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    model: ClassVar[type[nn.NodeModel]] = nn.GCN

    window: int = 10  # training stops at a watched loss above the mean of this many epochs

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=2 * self.hidden + 8 * classes)

    def selection(self) -> Selection:
        """Stop when the watched loss rises."""
        return WindowStop(self.window, self.watched)


@register
@dataclass(frozen=True)
class GLN(GCN):
    """softmax(P^2 X W0 W1), Eq. (3), with GCN's settings."""

    name: ClassVar[str] = "gln"
    title: ClassVar[str] = "GLN"
    cites: ClassVar[str] = "Thekumparampil, Wang, Oh and Li 2018"
    model: ClassVar[type[nn.NodeModel]] = nn.GLN
