"""GAT: several attention heads, each with a score that is a sum over both ends of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Generator, nn

from agnn.graph import View
from agnn.kernels import (
    ELU,
    AdditiveAttentionLink,
    Dropout,
    DropoutAt,
    HeadMean,
    Link,
)
from agnn.nn._initialisation import generators, glorot_uniform
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, INSIDE, OUTPUT, ChainModel, at


class AdditiveAttention(nn.Module):
    """H' = b + P H, P_i. = softmax over j in N(i) and i of leaky_relu(a . H_i + b . H_j), by head.

    Shapes: H [R, n, d K], the two vectors [R, d, K], bias [R, d K]; output [R, rows, d K].
    """

    def __init__(self, width: int, heads: int, sources: Sequence[Generator]) -> None:
        super().__init__()
        shape = (len(sources), width, heads)
        self.receiving = nn.Parameter(glorot_uniform(sources, width, 1, heads).view(shape))
        self.sending = nn.Parameter(glorot_uniform(sources, width, 1, heads).view(shape))
        self.bias = nn.Parameter(torch.zeros(len(sources), width * heads))

    def link(
        self,
        view: View,
        rows: int,
        drop: DropoutAt | None,
        value_drop: DropoutAt | None,
        backend: str,
    ) -> AdditiveAttentionLink:
        """The layer as a part of a model's chain."""
        graph, vectors = view.field.graph, (self.receiving, self.sending, self.bias)
        draws = (view.field.nodes, drop, value_drop)
        return AdditiveAttentionLink(graph, vectors, rows, draws, backend)


class GAT(ChainModel):
    """Graph attention network of two layers (Velickovic et al. 2018).

        H      = ELU(attention of K heads over dropout(X) W0)
        logits = mean over the K' output heads of attention over dropout(H) W1

    Dropout acts on X, on H, and in both layers on the attention and on the states it sums, all at
    one rate, as in the authors' program.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 8,
        heads: int = 8,
        output_heads: int = 1,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 2, backend)
        sources = generators(seeds)
        self.output_heads = output_heads
        self.first = FeatureLinear(features, hidden, sources, has_bias=False, heads=heads)
        self.first_attention = AdditiveAttention(hidden, heads, sources)
        self.last = Linear(hidden * heads, classes, sources, has_bias=False, heads=output_heads)
        self.last_attention = AdditiveAttention(classes, output_heads, sources)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """Linear, attention, ELU; linear, attention, mean."""
        targets, middle, _ = view.field.sizes
        first, second, third, fourth = (at(dropout, INSIDE + k) for k in range(4))
        return [
            self.first.link(view.features, at(dropout, INPUT), self.backend),
            self.first_attention.link(view, middle, first, third, self.backend),
            ELU(),
            self.last.link(view.field.nodes[:middle], at(dropout, OUTPUT), self.backend),
            self.last_attention.link(view, targets, second, fourth, self.backend),
            HeadMean(self.output_heads),
        ]
