"""SGC: a linear map of features that are propagated once, before training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import torch

from agnn.data import NodeData
from agnn.graph import Graph, Propagation, View
from agnn.kernels import Bias, Dropout, Link, PropagateLink
from agnn.networks._layers import FeatureLinear
from agnn.networks._model import INPUT, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._network import Matrix, NetworkMethod, propagated_entries
from agnn.networks._protocol import Presets, WholeNumber, register
from agnn.training import LastEpoch, Recipe


class SGCModel(NodeModel):
    """Simple graph convolution: logits = dropout(X') W + b for X' = P^k X (Wu et al. 2019).

    The caller computes X' once. No layer propagates, so a view is the rows themselves.
    """

    def __init__(self, network: SGC, shape: ModelShape) -> None:
        super().__init__(shape)
        self.first = FeatureLinear(shape.features, shape.classes, shape.generators(), has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The one layer."""
        return [self.first.link(view.features, at(dropout, INPUT), self.backend)]

    @property
    def unexplained(self) -> str:
        """Where the propagation is not among its operations."""
        return "it reads features that were propagated before training"


class PropagatingSGC(NodeModel):
    """An SGC that propagates by itself: logits = P^k (X W) + b with the weights of `trained`.

    Equal to SGC on P^k X, which is faster to train; this form shows what each node adds.
    """

    @property
    def title(self) -> str:
        """That of the method."""
        return "SGC"

    def __init__(self, trained: SGCModel, steps: int) -> None:
        super().__init__(replace(trained.shape, hops=steps))
        self.first = trained.first

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The layer without its bias, propagation, the bias."""
        weights = view.symmetric_propagation
        bias = self.first.bias
        steps = [PropagateLink(weights, rows, self.backend) for rows in rows_by_layer(view)]
        linear = self.first.link(view.features, at(dropout, INPUT), self.backend, has_bias=False)
        return [linear, *steps, *([] if bias is None else [Bias(bias)])]


@register
@dataclass(frozen=True)
class SGC(NetworkMethod):
    """softmax(P^k X W + b): the features are propagated once, before training."""

    name: ClassVar[str] = "sgc"
    title: ClassVar[str] = "SGC"
    cites: ClassVar[str] = "Wu, Zhang, de Souza et al. 2019"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = SGCModel
    hops: ClassVar[int | str] = 0  # during training
    # The best on the fixed splits' validation nodes, 1e-5 on Cora.
    presets: ClassVar[Presets] = {
        (setting, dataset): {"weight_decay": 1e-4}
        for setting in ("fixed", "random")
        for dataset in ("citeseer", "pubmed")
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "weight_decay": (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
    }

    steps: WholeNumber = 2  # K: powers of the adjacency matrix
    learning_rate: float = 0.2  # of Adam
    weight_decay: float = 1e-5  # weight of the L2 penalty
    dropout: float = 0.0  # share of inputs that a step drops
    epochs: int = 100  # all of them are run

    features_by_row: ClassVar[bool] = False

    def input_entries(self, data: NodeData) -> int:
        """Return an upper bound: propagation fills rows with their neighbours' columns."""
        return propagated_entries(data, self.steps)[-1]

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """Return P^k X."""
        P = Propagation.symmetric(Graph.of(data), torch.float64).matrix()
        X = super().features(data, fitted_on)
        for _ in range(self.steps):
            X = P @ X
        return X

    def propagating(self, model: NodeModel) -> tuple[NetworkMethod, NodeModel] | None:
        """Return the method without steps, and a model that takes them."""
        if not self.steps:
            return None
        return replace(self, steps=0), PropagatingSGC(cast(SGCModel, model), self.steps)

    def recipe(self) -> Recipe:
        """Adam for a fixed number of epochs, whose last is kept."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            selection=LastEpoch(),
        )
