"""Graph-CNN, spatial filters on the unweighted adjacency matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import Footprint, HighestAccuracy, Selection


@register
@dataclass(frozen=True)
class GraphCNN(HiddenNetwork):
    """Two layers with one matrix for the node and one for the sum of its neighbours."""

    name: ClassVar[str] = "graph_cnn"
    title: ClassVar[str] = "Graph-CNN"
    cites: ClassVar[str] = "Such, Sah, Dominguez et al. 2017"
    model: ClassVar[type[nn.NodeModel]] = nn.GraphCNN
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "last.*")
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"window": 1, "watched": "test"},
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"hidden": (16, 48)}

    epochs: int = 300
    window: int = 4  # epochs over which the watched accuracy is averaged

    @property
    def state_width(self) -> int:
        """That of both slices."""
        return 2 * self.hidden

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=6 * self.state_width + 16 * classes)

    def selection(self) -> Selection:
        """The epoch of the highest smoothed accuracy."""
        return HighestAccuracy(self.window, self.watched)
