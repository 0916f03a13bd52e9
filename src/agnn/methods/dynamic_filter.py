"""DynamicFilter, later published as FeaStNet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.methods.hidden_network import HiddenNetwork
from agnn.methods.registry import register
from agnn.training import Selection, WindowStop


@register
@dataclass(frozen=True)
class DynamicFilter(HiddenNetwork):
    """Two layers that share their neighbours out softly among several filters."""

    name: ClassVar[str] = "dynamic_filter"
    title: ClassVar[str] = "DynamicFilter"
    cites: ClassVar[str] = "Verma, Boyer and Verbeek 2017"
    note: ClassVar[str] = (
        "Its program covers meshes only: layers, width, training and the stopping rule are GCN's "
        "here, the form is the translation-invariant one, and the number of filters is the best of "
        "1, 2, 4 and 8 on Cora's validation nodes."
    )
    decayed: ClassVar[tuple[str, ...]] = ("first.*", "first_assignment.*")
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"filters": (1, 2, 4, 8)}

    filters: int = 2
    window: int = 10

    @property
    def state_width(self) -> int:
        """Every filter has its own states."""
        return self.hidden * self.filters

    def build(
        self, features: int, classes: int, seeds: Sequence[int], backend: str
    ) -> nn.DynamicFilter:
        """The untrained model, one replica a seed."""
        return nn.DynamicFilter(
            features, classes, seeds, hidden=self.hidden, filters=self.filters, backend=backend
        )

    def selection(self) -> Selection:
        """Stopped when the watched loss turns."""
        return WindowStop(self.window, self.watched)
