"""Models that read a node's own row and no neighbour: MLP, SGC and DCNN.

The last two get features that were propagated before training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from agnn.graph import FeatureMatrix, View
from agnn.kernels import Bias, Dropout, Link, PropagateLink, ReLU, run_chain
from agnn.nn._initialisation import generators, glorot_uniform, normal
from agnn.nn._layers import FeatureLinear, Linear
from agnn.nn._node_model import INPUT, OUTPUT, ChainModel, at, rows_by_layer


class MLP(ChainModel):
    """logits = dropout(ReLU(dropout(X) W0 + b0)) W1 + b1, with or without the biases."""

    unexplained: ClassVar[str | None] = "it depends on the node's own features alone"

    def __init__(
        self,
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        hidden: int = 16,
        has_bias: bool = True,
        backend: str = "auto",
    ) -> None:
        super().__init__(len(seeds), 0, backend)
        sources = generators(seeds)
        self.first = FeatureLinear(features, hidden, sources, has_bias=has_bias)
        self.last = Linear(hidden, classes, sources, has_bias=has_bias)

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


class SGC(ChainModel):
    """Simple graph convolution: logits = dropout(X') W + b for X' = P^k X (Wu et al. 2019).

    The caller computes X' once. No layer propagates, so a view is the rows themselves.
    """

    unexplained: ClassVar[str | None] = "it reads features that were propagated before training"

    def __init__(
        self, features: int, classes: int, seeds: Sequence[int] = (0,), *, backend: str = "auto"
    ) -> None:
        super().__init__(len(seeds), 0, backend)
        self.first = FeatureLinear(features, classes, generators(seeds), has_bias=True)

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The one layer."""
        return [self.first.link(view.features, at(dropout, INPUT), self.backend)]


class PropagatingSGC(ChainModel):
    """An SGC that propagates by itself: logits = P^k (X W) + b with the weights of `trained`.

    Equal to SGC on P^k X, which is faster to train; this form shows what each node adds.
    """

    unexplained: ClassVar[str | None] = None
    title = "SGC"

    def __init__(self, trained: SGC, steps: int) -> None:
        super().__init__(trained.replicas, steps, trained.backend)
        self.first = trained.first

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The layer without its bias, propagation, the bias."""
        weights, bias = view.symmetric_propagation, self.first.bias
        steps = [PropagateLink(weights, rows, self.backend) for rows in rows_by_layer(view)]
        first = self.first.link(view.features, at(dropout, INPUT), self.backend, has_bias=False)
        return [first, *steps, *([] if bias is None else [Bias(bias)])]


class DCNN(ChainModel):
    """Diffusion-convolutional network (Atwood and Towsley 2016).

        logits = tanh(X' diag(s)) W + b,  X' = [X, P X, P^2 X, ...]

    The caller computes X' once; s holds one weight per step and feature. No layer propagates, so a
    view is the rows themselves.
    """

    unexplained: ClassVar[str | None] = (
        "its features are propagated before training and pass through tanh, so no part of a logit "
        "belongs to one node"
    )

    def __init__(
        self, features: int, classes: int, seeds: Sequence[int] = (0,), *, backend: str = "auto"
    ) -> None:
        super().__init__(len(seeds), 0, backend)
        sources = generators(seeds)
        self.scale = nn.Parameter(normal(sources, features, deviation=0.01))
        self.weight = nn.Parameter(glorot_uniform(sources, features, classes))
        self.bias = nn.Parameter(torch.zeros(len(seeds), classes))

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The one operation; nothing is dropped."""
        return [_TanhLinear(view.sparse_features, self.scale, self.weight, self.bias)]


class _TanhLinear(Link):
    """tanh(X diag(s)) W + b for sparse X [n, d_x]: the start of a chain, in plain torch.

    An absent entry stays absent, since tanh(0) = 0, so every product with X is a sum of the rows
    that X names. One replica after the other: none changes another's bits.
    """

    def __init__(self, x: FeatureMatrix, scale: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.x = x
        self.parameters = (scale, weight, bias)  # [R, d_x], [R, d_x, k], [R, k]

    def forward(self, x: Tensor) -> Tensor:
        """Logits [R, n, k]."""
        columns = self.x.columns.to(torch.int64)
        return torch.stack(
            [
                _row_sums(
                    weight, columns, self.x.offsets, torch.tanh(self.x.values * scale[columns])
                )
                + bias
                for scale, weight, bias in zip(*self.parameters, strict=True)
            ]
        )

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the scale, at the weight and at the bias."""
        scales, weights, _ = self.parameters
        offsets, rows, values = self.x.by_column
        rows = rows.to(torch.int64)
        lengths = offsets.diff()
        of_scale, of_weight = [], []
        for scale, weight, slopes in zip(scales, weights, gradient, strict=True):
            # With its size given, a GPU need not wait for it.
            by_entry = scale.repeat_interleave(lengths, output_size=rows.numel())
            squashed = torch.tanh(values * by_entry)
            of_weight.append(_row_sums(slopes, rows, offsets, squashed))
            inner = _row_sums(slopes, rows, offsets, (1.0 - squashed.square()) * values)
            of_scale.append((inner * weight).sum(-1))
        return gradient, (torch.stack(of_scale), torch.stack(of_weight), gradient.sum(1))


def _row_sums(table: Tensor, rows: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of the rows of `table` that stand between two offsets."""
    return nn.functional.embedding_bag(
        rows,
        table,
        offsets,
        mode="sum",
        per_sample_weights=weights,
        include_last_offset=True,
    )
