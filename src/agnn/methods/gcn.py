"""GCN and its linear sibling GLN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agnn import nn
from agnn.methods.hidden_network import HiddenNetwork
from agnn.methods.registry import register
from agnn.training import Selection, WindowStop


@register
@dataclass(frozen=True)
class GCN(HiddenNetwork):
    """softmax(P ReLU(P X W0) W1), Eq. (1), trained as Kipf and Welling's program trains it."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"
    cites: ClassVar[str] = "Kipf and Welling 2017"
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    model: ClassVar[type[nn.GCN]] = nn.GCN

    window: int = 10

    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> nn.GCN:
        """The untrained model, one replica a seed."""
        return self.model(features, classes, seeds, hidden=self.hidden, backend=backend)

    def selection(self) -> Selection:
        """Stopped when the watched loss turns."""
        return WindowStop(self.window, self.watched)


@register
@dataclass(frozen=True)
class GLN(GCN):
    """softmax(P^2 X W0 W1), Eq. (3), with GCN's settings."""

    name: ClassVar[str] = "gln"
    title: ClassVar[str] = "GLN"
    cites: ClassVar[str] = "Thekumparampil, Wang, Oh and Li 2018"
    model: ClassVar[type[nn.GCN]] = nn.GLN
