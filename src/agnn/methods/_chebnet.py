"""ChebNet, the convolution by Chebyshev polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnn import nn
from agnn.errors import InputError
from agnn.methods._gcn import GCN
from agnn.methods._protocol import register
from agnn.training import Footprint


@register
@dataclass(frozen=True)
class ChebNet(GCN):
    """Two layers of polynomial filters of degree `order`, trained as Kipf and Welling train them.

    Their settings for it are those of GCN.
    """

    name: ClassVar[str] = "chebnet"
    title: ClassVar[str] = "ChebNet"
    cites: ClassVar[str] = "Defferrard, Bresson and Vandergheynst 2016"
    model: ClassVar[type[nn.NodeModel]] = nn.ChebNet

    order: int = 2  # K: the degree of the polynomials

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order < 1:
            raise InputError(f"`order` must be at least 1; got {self.order}.")

    @property
    def propagation_steps(self) -> int:
        """One per degree and layer."""
        return 2 * self.order

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        terms = self.order + 1
        return Footprint(per_node=4 * terms * (self.hidden + classes) + 8 * classes)
