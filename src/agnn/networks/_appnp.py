"""APPNP: predict first, then propagate the predictions by personalised PageRank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from agnn.data import NodeData
from agnn.graph import View
from agnn.kernels import (
    Anchor,
    Blend,
    Dropout,
    DroppedPropagateLink,
    EntryDropout,
    Link,
    PropagateLink,
    ReLU,
)
from agnn.networks._layers import FeatureLinear, Linear
from agnn.networks._model import INPUT, INSIDE, OUTPUT, ModelShape, NodeModel, at, rows_by_layer
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, Share, register
from agnn.training import BestThenLowest, Selection


class APPNPModel(NodeModel):
    """Approximate personalised propagation of neural predictions (Klicpera et al. 2019).

        H      = dropout(ReLU(dropout(X) W0)) W1
        Z(0)   = H,  Z(t+1) = (1 - alpha) dropout(P) Z(t) + alpha H,  logits = Z(k)

    P = D~^-1/2 (A + I) D~^-1/2, its entries dropped anew in every step.
    """

    def __init__(self, network: APPNP, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.alpha = network.alpha
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=False)
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=False)

    def links(self, view: View, stream: Dropout | None) -> list[Link]:
        """Two layers, then propagation steps that are blended with their output."""
        prediction = Anchor()
        chain: list[Link] = [
            self.first.link(view.features, at(stream, INPUT), self.backend),
            ReLU(),
            self.last.link(view.field.nodes, at(stream, OUTPUT), self.backend),
            prediction,
        ]
        for step, rows in enumerate(rows_by_layer(view)):
            chain += [
                self._propagation_link(view, rows, stream, INSIDE + 2 * step),
                Blend(prediction, 1.0 - self.alpha),
            ]
        return chain

    def _propagation_link(self, view: View, rows: int, stream: Dropout | None, place: int) -> Link:
        """P at the first `rows` rows; in training some of its entries are dropped."""
        weights = view.symmetric_propagation
        if stream is None:
            return PropagateLink(weights, rows, self.backend)
        # Draws belong to an edge's or node's index in the full graph.
        field = view.field
        drop = EntryDropout(stream.at(place), stream.at(place + 1), field.edge_ids, field.nodes)
        return DroppedPropagateLink(weights, rows, drop, self.backend)


@register
@dataclass(frozen=True)
class APPNP(HiddenNetwork):
    """A perceptron whose predictions are propagated by personalised PageRank."""

    name: ClassVar[str] = "appnp"
    title: ClassVar[str] = "APPNP"
    cites: ClassVar[str] = "Klicpera, Bojchevski and Günnemann 2019"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = APPNPModel
    hops: ClassVar[int | str] = "steps"
    rule: ClassVar[type[Selection]] = BestThenLowest
    decayed: ClassVar[tuple[str, ...]] = ("first.*",)
    limits: ClassVar[Mapping[str, int]] = {"patience": 50}

    hidden: Count = 64
    steps: Count = 10  # K: of the power iteration
    alpha: Share = 0.1  # probability of a restart
    weight_decay: float = 5e-3
    epochs: int = 2000
    patience: Count = 100  # epochs without progress that end the training

    def work(self, data: NodeData) -> float:
        """Steps x (2 edges + nodes) x classes + non-zero features x width."""
        lines = self.steps * (2 * data.edges.shape[1] + data.nodes)
        return float(lines * data.classes + data.features.nnz * self.hidden)
