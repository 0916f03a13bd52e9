"""AGNN+: AGNN whose output layer reads the mean over all hops, trained on several versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from agnn.graph import DenseFeatures, View
from agnn.kernels import (
    CosineAttentionLink,
    DenseLinearLink,
    Dropout,
    DropoutAt,
    HopMean,
    HopState,
    Link,
    ReLU,
    RowDropoutLink,
    SharedLinearLink,
    SparseLinearLink,
    for_versions,
    run_chain,
)
from agnn.nn._agnn import AGNN
from agnn.nn._layers import Beta, FeatureLinear, Linear
from agnn.nn._node_model import INPUT, INSIDE, OUTPUT, rows_by_layer


class AGNNPlus(AGNN):
    """Attention propagation, the mean over its hops, and random versions in training.

        H(0)    = ReLU(dropout(X) W0 + b0), in training with whole rows dropped
        H(t)    = P(t) H(t-1),  P(t)_i. = softmax over N(i) and i of beta(t) cos(H_i, H_j)
        logits  = dropout((H(0) + ... + H(l)) / (l + 1)) W1 + b1

    The weight of node j in the state that node i is classified by is the mean over t of
    (P(t) ... P(1))_ij: a node itself has at least 1 / (l + 1). With `relu_after_hops`, ReLU acts
    on the mean of the states, before its dropout, and not on H(0).
    """

    takes_bf16: ClassVar[bool] = False  # the mean over its hops would be summed in it

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        betas: Sequence[Beta] = (Beta(),) * 4,
        hidden: int = 64,
        row_dropout: float = 0.5,
        input_dropout: float | None = None,
        relu_after_hops: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__(features, classes, seeds, betas=betas, hidden=hidden, backend=backend)
        self.row_dropout, self.input_dropout = row_dropout, input_dropout
        self.relu_after_hops = relu_after_hops

    @property
    def combination(self) -> tuple[float, ...]:
        """The weight of each state H(0) to H(l) in what the output layer reads: all the same."""
        return (1.0 / (self.hops + 1),) * (self.hops + 1)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """First layer, attention layers, their mean, last layer."""
        return self._links(view, dropout, 1)

    def version_logits(self, view: View, dropout: Dropout, versions: int) -> Tensor:
        """Return logits of several versions, each with its own dropout; [R, S, targets, c]."""
        out = run_chain(self._links(view, dropout, versions), view.features.values)
        return out.view(self.replicas, versions, *out.shape[1:])

    def _links(self, view: View, dropout: Dropout | None, versions: int) -> list[Link]:
        field, rows = view.field, rows_by_layer(view)
        states = [HopState() for _ in rows]
        chain: list[Link] = [self._first(view, dropout, versions)]
        if not self.relu_after_hops:
            chain.append(ReLU())
        dropped = _at(dropout, INSIDE, versions, self.row_dropout)
        if dropped is not None:
            chain.append(RowDropoutLink(field.nodes, dropped, self.backend))
        for layer, state, count in zip(self._layers(), states, rows, strict=True):
            beta = for_versions(layer.beta, versions)
            chain += [state, CosineAttentionLink(field.graph, beta, count, self.backend)]
        weight, bias = _parameters(self.last, versions)
        drop = _at(dropout, OUTPUT, versions)
        last = DenseLinearLink(weight, bias, field.targets, drop, self.backend)
        chain.append(HopMean(states, field.sizes[0]))
        return [*chain, ReLU(), last] if self.relu_after_hops else [*chain, last]

    def _first(self, view: View, dropout: Dropout | None, versions: int) -> Link:
        weight, bias = _parameters(self.first, versions)
        drop, x = _at(dropout, INPUT, versions, self.input_dropout), view.features
        if isinstance(x, DenseFeatures):
            return SharedLinearLink(x, weight, bias, drop, self.backend)
        return SparseLinearLink(x, weight, bias, drop, self.backend)


def _parameters(layer: FeatureLinear | Linear, versions: int) -> tuple[Tensor, Tensor | None]:
    """The weight and the bias of a layer, for every version."""
    bias = None if layer.bias is None else for_versions(layer.bias, versions)
    return for_versions(layer.weight, versions), bias


def _at(
    dropout: Dropout | None, place: int, versions: int, rate: float | None = None
) -> DropoutAt | None:
    """The dropout of one place; none in evaluation and at rate 0."""
    if dropout is None or rate == 0.0:
        return None
    return dropout.at(place, versions=versions, rate=rate)
