"""GAT: several attention heads, each with a score that is a sum over both ends of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from agnn.graph import View
from agnn.kernels import (
    ELU,
    AdditiveAttentionLink,
    Attention,
    Dropout,
    DropoutAt,
    HeadMean,
    Link,
    additive_attention_weights,
    heads_of,
    run_chain,
)
from agnn.nn._initialisation import generators, glorot_uniform
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._linear_form import Hop, LinearForm, Paths, Units, elu_gate, last_hop
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
        return AdditiveAttentionLink(graph, *vectors, rows, *draws, backend)

    def attention(self, view: View, h: Tensor, rows: int) -> Attention:
        """Return the weights of the average, without dropout."""
        return additive_attention_weights(
            view.field.graph, h, self.receiving, self.sending, rows=rows
        )


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

    @torch.no_grad()
    def attentions(self, view: View) -> list[Attention]:
        """Return P of both layers per head, without dropout, for the rows they compute."""
        targets, middle, _ = view.field.sizes
        links = self.links(view, None)
        states = run_chain(links[:1], view.features.values)
        hidden = run_chain(links[1:4], states)
        return [
            self.first_attention.attention(view, states, middle),
            self.last_attention.attention(view, hidden, targets),
        ]

    def propagation(self, view: View) -> Paths:
        """The attention of both layers, the mean over their heads."""
        return self._paths(self.attentions(view))

    @torch.no_grad()
    def linear_form(self, view: View) -> LinearForm:
        """Attention by head; ELU counts as the factor by which it scales each unit."""
        links, by_head = self.links(view, None), self.attentions(view)
        states = run_chain(links[:1], view.features.values)
        bias = heads_of(self.last_attention.bias, self.output_heads).mean(-1)
        return LinearForm(
            paths=self._paths(by_head),
            units=(
                Units(
                    bias=self.first_attention.bias,
                    gate=elu_gate(run_chain(links[1:2], states)),
                    heads=by_head[0],
                ),
                # A mean over the output heads is their sum by smaller weights.
                Units(
                    weight=self.last.weight,
                    bias=bias,
                    heads=Attention(*(each / self.output_heads for each in by_head[1])),
                    sums_heads=True,
                ),
            ),
            states=states,
            first_weight=self.first.weight,
        )

    def _paths(self, by_head: list[Attention]) -> Paths:
        hops = tuple(Hop(Attention(p.edges.mean(-1), p.loops.mean(-1))) for p in by_head)
        return Paths(hops, last_hop(2), is_attention=True, notes=(self._note(),))

    def _note(self) -> str:
        heads = self.first_attention.bias.shape[1] // self.first_attention.receiving.shape[1]
        return (
            f"The attention shown is the mean over the heads: {heads} in the first layer, "
            f"{self.output_heads} in the second. What a node adds is computed head by head, with "
            f"the attention and the slope of each unit held."
        )
