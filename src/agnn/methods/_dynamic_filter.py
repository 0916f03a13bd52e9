"""DynamicFilter, later published as FeaStNet."""

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
class DynamicFilter(HiddenNetwork):
    """Two layers that assign each neighbour softly to several filters."""

    name: ClassVar[str] = "dynamic_filter"
    title: ClassVar[str] = "DynamicFilter"
    cites: ClassVar[str] = "Verma, Boyer and Verbeek 2017"
    model: ClassVar[type[nn.NodeModel]] = nn.DynamicFilter
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "first_assignment.*")
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"filters": (1, 2, 4, 8)}

    filters: int = 2  # of a layer
    window: int = 10  # training stops at a watched loss above the mean of this many epochs

    @property
    def state_width(self) -> int:
        """That of all filters."""
        return self.hidden * self.filters

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(
            per_node=8 * self.state_width + 8 * self.filters * (classes + 2),
            per_edge=24 * self.filters,
        )

    def selection(self) -> Selection:
        """Stop when the watched loss rises."""
        return WindowStop(self.window, self.watched)
