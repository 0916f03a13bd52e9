"""The multilayer perceptron: a GCN without a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agnn import nn
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import register
from agnn.training import Selection, WindowStop


@register
@dataclass(frozen=True)
class MultilayerPerceptron(HiddenNetwork):
    """softmax(ReLU(X W0) W1), trained on the labelled rows as in Kipf and Welling's code.

    The features of the other nodes and the graph are not used.
    """

    name: ClassVar[str] = "multilayer_perceptron"
    title: ClassVar[str] = "Multilayer perceptron"
    cites: ClassVar[str] = "Kipf and Welling 2017"
    model: ClassVar[type[nn.NodeModel]] = nn.MLP
    decayed: ClassVar[tuple[str, ...]] = ("first.weight",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "has_bias": (True,),
        "window": (200,),  # as long as training: never stops
        "hidden": (16, 64),
        "dropout": (0.5, 0.8),
        "weight_decay": (5e-4, 1e-2),
    }

    has_bias: bool = False  # whether the layers have one
    window: int = 10  # training stops at a watched loss above the mean of this many epochs

    @property
    def propagation_steps(self) -> int:
        """None: the graph is not used."""
        return 0

    def selection(self) -> Selection:
        """Stop when the watched loss rises."""
        return WindowStop(self.window, self.watched)
