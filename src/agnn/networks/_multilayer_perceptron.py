"""A perceptron of two layers, which reads a node's own row and no neighbour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from torch import Tensor

from agnn.graph import View
from agnn.kernels import Dropout, Link, ReLU, run_chain
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, OUTPUT, ModelShape, NodeModel, at
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, register
from agnn.training import Selection, WindowStop


class Perceptron(Protocol):
    """What a network says about its perceptron."""

    @property
    def hidden(self) -> int:
        """The width of the hidden states."""

    @property
    def has_bias(self) -> bool:
        """Whether the layers have one."""


class MLPModel(NodeModel):
    """logits = dropout(ReLU(dropout(X) W0 + b0)) W1 + b1, with or without the biases."""

    def __init__(self, network: Perceptron, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=network.has_bias
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=network.has_bias)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, ReLU, last layer."""
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            ReLU(),
            self.last.link(view.field.targets, at(dropout, OUTPUT), self.backend),
        ]

    def hidden_states(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """ReLU(dropout(X) W0 + b0); [R, targets, d]."""
        return run_chain(self.links(view, dropout)[:2], view.features.values)


@register
@dataclass(frozen=True)
class MultilayerPerceptron(HiddenNetwork):
    """softmax(ReLU(X W0) W1), trained on the labelled rows as in Kipf and Welling's code.

    The features of the other nodes and the graph are not used.
    """

    name: ClassVar[str] = "multilayer_perceptron"
    title: ClassVar[str] = "Multilayer perceptron"
    cites: ClassVar[str] = "Kipf and Welling 2017"
    model: ClassVar[type[NodeModel]] = MLPModel
    hops: ClassVar[int | str] = 0  # the graph is not used
    rule: ClassVar[type[Selection]] = WindowStop
    decayed: ClassVar[tuple[str, ...]] = ("first.weight",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "has_bias": (True,),
        "window": (200,),  # as long as training: never stops
        "hidden": (16, 64),
        "dropout": (0.5, 0.8),
        "weight_decay": (5e-4, 1e-2),
    }

    has_bias: bool = False  # whether the layers have one
    window: Count = 10  # training stops at a watched loss above the mean of this many epochs
