"""GAT: several attention heads, each with a score that is a sum over both ends of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from agnn.networks._layers import FeatureLinear, Linear, glorot_uniform
from agnn.networks._model import INPUT, INSIDE, OUTPUT, ModelShape, NodeModel, at
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, Presets, register
from agnn.training import BothBest, Selection


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
        graph = view.field.graph
        vectors = (self.receiving, self.sending, self.bias)
        draws = (view.field.nodes, drop, value_drop)
        return AdditiveAttentionLink(graph, vectors, rows, draws, backend)


class GATModel(NodeModel):
    """Graph attention network of two layers (Velickovic et al. 2018).

        H      = ELU(attention of K heads over dropout(X) W0)
        logits = mean over the K' output heads of attention over dropout(H) W1

    Dropout acts on X, on H, and in both layers on the attention and on the states it sums, all at
    one rate, as in the authors' program.
    """

    def __init__(self, network: GAT, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.output_heads = network.output_heads
        self.first = FeatureLinear(
            shape.features, network.hidden, sources, has_bias=False, heads=network.heads
        )
        self.first_attention = AdditiveAttention(network.hidden, network.heads, sources)
        self.last = Linear(
            network.hidden * network.heads,
            shape.classes,
            sources,
            has_bias=False,
            heads=network.output_heads,
        )
        self.last_attention = AdditiveAttention(shape.classes, network.output_heads, sources)

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


@register
@dataclass(frozen=True)
class GAT(HiddenNetwork):
    """Two layers of additive attention with several heads.

    The presets are the settings of its paper: PubMed has eight output heads and other rates.
    """

    name: ClassVar[str] = "gat"
    title: ClassVar[str] = "GAT"
    cites: ClassVar[str] = "Velickovic, Cucurull, Casanova et al. 2018"
    model: ClassVar[type[NodeModel]] = GATModel
    rule: ClassVar[type[Selection]] = BothBest
    presets: ClassVar[Presets] = {
        **{
            (setting, "pubmed"): {"output_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3}
            for setting in ("fixed", "random")
        },
        **HiddenNetwork.presets,
    }

    hidden: Count = 8  # width of a head
    heads: Count = 8  # of the first layer
    output_heads: Count = 1  # of the last layer
    learning_rate: float = 0.005
    dropout: float = 0.6
    epochs: int = 2000
    patience: Count = 100  # epochs without progress that end the training
