"""MoNet, mixtures of Gaussians over the edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import Footprint, Selection, WindowStop


@register
@dataclass(frozen=True)
class MoNet(HiddenNetwork):
    """Two layers that weight neighbours by Gaussian kernels of their degrees."""

    name: ClassVar[str] = "monet"
    title: ClassVar[str] = "MoNet"
    cites: ClassVar[str] = "Monti, Boscaini, Masci et al. 2017"
    model: ClassVar[type[nn.NodeModel]] = nn.MoNet
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"kernels": (1, 2, 4)}

    kernels: int = 2  # of a layer
    dimensions: int = 2  # of the coordinates of an edge
    window: int = 10  # training stops at a watched loss above the mean of this many epochs

    @property
    def state_width(self) -> int:
        """That of all kernels."""
        return self.hidden * self.kernels

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(
            per_node=8 * self.state_width + 8 * self.kernels * (classes + 2),
            per_edge=12 * (2 + self.dimensions * (self.kernels + 1) + self.kernels),
        )

    def selection(self) -> Selection:
        """Stop when the watched loss rises."""
        return WindowStop(self.window, self.watched)
