"""APPNP: predict first, then propagate the predictions by personalised PageRank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from agnn.graph import View
from agnn.kernels import (
    Anchor,
    Blend,
    Dropout,
    Link,
    PropagateLink,
    ReLU,
    WeightedSumLink,
    dropout,
)
from agnn.nn._initialisation import generators
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, INSIDE, OUTPUT, ChainModel, at, rows_by_layer


class APPNP(ChainModel):
    """Approximate personalised propagation of neural predictions (Klicpera et al. 2019).

        H      = dropout(ReLU(dropout(X) W0)) W1
        Z(0)   = H,  Z(t+1) = (1 - alpha) dropout(P) Z(t) + alpha H,  logits = Z(k)

    P = D~^-1/2 (A + I) D~^-1/2, its entries dropped anew in every step.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 64,
        steps: int = 10,
        alpha: float = 0.1,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), steps, backend)
        sources = generators(seeds)
        self.alpha = alpha
        self.first = FeatureLinear(features, hidden, sources, has_bias=False)
        self.last = Linear(hidden, classes, sources, has_bias=False)

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
                self._propagated(view, rows, stream, INSIDE + 2 * step),
                Blend(prediction, 1.0 - self.alpha),
            ]
        return chain

    def _propagated(self, view: View, rows: int, stream: Dropout | None, place: int) -> Link:
        """P at the first `rows` rows; in training some of its entries are dropped."""
        weights = view.symmetric_propagation
        if stream is None:
            return PropagateLink(weights, rows, self.backend)
        graph, field = weights.graph, view.field
        count = graph.edges_of(rows)

        def drawn(values: Tensor, labels: Tensor, place: int) -> Tensor:
            columns = values[None, :, None].expand(self.replicas, -1, 1)
            return dropout(columns, labels, stream.at(place), backend=self.backend)

        # Draws belong to an edge's or node's index in the full graph.
        edges = drawn(weights.edge_weights[:count], field.edge_ids[:count], place)
        loops = drawn(weights.loop_weights[:rows], field.nodes[:rows], place + 1)
        return WeightedSumLink(graph, edges, loops, self.backend)
